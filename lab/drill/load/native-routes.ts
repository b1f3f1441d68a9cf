/** The catalogue of a drill: the usual one, in which some models have a route to a vendor's batch API. */
import { readFile, writeFile } from 'node:fs/promises';
import type { UpstreamFormatName } from '../../../domain/wire-format-name.ts';

interface NativeModel {
  /** The vendor whose API the route's format leads to. */
  readonly vendor: string;
  readonly model: string;
  readonly format: UpstreamFormatName;
}

export const NATIVE_MODELS: readonly NativeModel[] = [
  { vendor: 'openai', model: 'textd-v2.6-flash', format: 'chat-completions' },
  { vendor: 'anthropic', model: 'texti-k3', format: 'messages' },
  { vendor: 'google', model: 'texth-3.7-flash', format: 'generate-content' },
];

const USUAL_CATALOGUE = new URL('../../../catalogue/catalogue.yaml', import.meta.url);

/** @param file the path of the file to write */
export async function writeDrillCatalogue(file: string): Promise<void> {
  let text = await readFile(USUAL_CATALOGUE, 'utf8');
  for (const { model, format } of NATIVE_MODELS) {
    const line = `        - id: ${model}\n`;
    if (!text.includes(line)) throw new Error(`the catalogue has no line for the model ${model}`);
    text = text.replace(line, `${line}          route: { provider: simulator, format: ${format}, batch: native }\n`);
  }
  await writeFile(file, text);
}
