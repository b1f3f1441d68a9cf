/**
 * The parameters of images whose values a model lists in the catalogue: `list` names the field of the values, and
 * `default_…` the field of the default. The catalogue, the API, tasks and the fields of upstreams are derived from this
 * list. How to add a parameter: `docs/changing-it.md`.
 */
export const IMAGE_CHOICES = [
  { name: 'background', list: 'backgrounds', description: '`transparent` gives a PNG with alpha' },
] as const;

type Choice = (typeof IMAGE_CHOICES)[number];
export type ImageChoice = Choice['name'];

/** A model's entry in the catalogue. */
export type ImageChoiceEntries = {
  readonly [Listed in Choice as Listed['list']]?: readonly string[];
} & { readonly [Name in ImageChoice as `default_${Name}`]?: string };

/** The values that a request chose. */
export type ChosenValues = { readonly [Name in ImageChoice]?: string };

/** @param valueOf returns undefined for a parameter without a chosen value */
export function chooseValues(valueOf: (name: ImageChoice) => string | undefined): ChosenValues {
  const chosen: { -readonly [Name in ImageChoice]?: string } = {};
  for (const { name } of IMAGE_CHOICES) {
    const value = valueOf(name);
    if (value !== undefined) chosen[name] = value;
  }
  return chosen;
}
