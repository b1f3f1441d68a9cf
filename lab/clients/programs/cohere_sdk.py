import cohere

from check import *

client = cohere.ClientV2()
documents = ["Lighthouses stand on cliffs.", "Gannets nest on cliffs."]
ranked = client.rerank(model=MODEL, query="Which birds nest on cliffs?", documents=documents, top_n=1)
expect("ranking", [result.index for result in ranked.results], "[1]")
expect("searches", ranked.meta.billed_units.search_units, "1")
report()
