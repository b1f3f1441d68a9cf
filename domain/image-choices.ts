/**
 * The parameters of images whose values a model lists in the catalogue, with a default: `list` names the values, and
 * `default_…` the default. The catalogue, the API, the tasks and the upstreams' fields derive them from here. How to add one:
 * `docs/changing-it.md`.
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

/** @param valueOf returns undefined for what is not chosen */
export function chooseValues(valueOf: (name: ImageChoice) => string | undefined): ChosenValues {
  const chosen: { -readonly [Name in ImageChoice]?: string } = {};
  for (const { name } of IMAGE_CHOICES) {
    const value = valueOf(name);
    if (value !== undefined) chosen[name] = value;
  }
  return chosen;
}
