/** The fields of models of pictures and videos, with their limits. */
import type { MediaModel, VideoModel } from '../../../catalogue/types.ts';
import { Choice, Field } from '../../html/components.tsx';
import type { MemberVisit } from '../../page.ts';
import { FileDrop } from './files.tsx';

interface Props<Model> {
  readonly model: Model;
  readonly visit: MemberVisit;
}

export function MediaFields({ model, visit }: Props<MediaModel>) {
  const { texts, form } = visit;
  const words = texts.playground;
  return (
    <>
      <div class="grid">
        {model.kind === 'video' ? <Duration model={model} visit={visit} /> : null}
        <Choice
          name="aspect_ratio"
          label={words.aspectRatio}
          value={form.text('aspect_ratio') || model.defaultAspectRatio}
          options={model.aspectRatios.map((ratio) => [ratio, ratio])}
        />
        <Choice
          name="resolution"
          label={words.resolution}
          value={form.text('resolution') || model.defaultResolution}
          options={resolutionsOf(model).map((resolution) => [resolution, resolution])}
        />
      </div>
      {model.images.max === 0 ? null : (
        <fieldset>
          <legend>{words.images(model.images.required ? 1 : 0, model.images.max)}</legend>
          <FileDrop visit={visit} />
          <Field
            name="images"
            label={words.imageLinks}
            hint={words.imagesHint}
            value={form.all('images').join('\n')}
            lines={2}
          />
        </fieldset>
      )}
    </>
  );
}

function Duration({ model: { durationSeconds }, visit: { texts, form } }: Props<VideoModel>) {
  const { min, max, values } = durationSeconds;
  const words = texts.playground;
  const value = form.text('duration') || String(durationSeconds.default);
  return values === null ? (
    <Field name="duration" label={words.duration(min, max)} inputMode="numeric" value={value} />
  ) : (
    <Choice
      name="duration"
      label={words.duration(min, max)}
      value={value}
      options={values.map((seconds) => [String(seconds), String(seconds)])}
    />
  );
}

function resolutionsOf(model: MediaModel): readonly string[] {
  return model.kind === 'video' ? [...model.pricing.byResolution.keys()] : Object.keys(model.pricePerTier);
}
