/** The fields of picture and video models, with their limits. */
import type { MediaModel, VideoModel } from '../../../catalogue/types.ts';
import type { ParameterSchema } from '../../../domain/model-parameters.ts';
import { Choice, Field } from '../../html/components.tsx';
import type { MemberVisit } from '../../page.ts';
import { fieldOf } from './bodies.ts';
import { FileDrop } from './files.tsx';

interface Props<Model> {
  readonly model: Model;
  readonly visit: MemberVisit;
}

export function MediaFields({ model, visit }: Props<MediaModel>) {
  const { texts, form } = visit;
  const messages = texts.playground;
  return (
    <>
      <div class="grid">
        {model.kind === 'video' ? <Duration model={model} visit={visit} /> : null}
        <Choice
          name="aspect_ratio"
          value={form.text('aspect_ratio') || model.defaultAspectRatio}
          options={model.aspectRatios.map((ratio) => [ratio, ratio])}
        />
        <Choice
          name="resolution"
          value={form.text('resolution') || model.defaultResolution}
          options={Object.keys(model.pricing.byResolution).map((resolution) => [resolution, resolution])}
        />
      </div>
      {model.images.max === 0 ? null : (
        <fieldset>
          <legend>{messages.images(model.images.required ? 1 : 0, model.images.max)}</legend>
          <FileDrop visit={visit} />
          <Field name="images" hint={messages.imagesHint} value={form.all('images').join('\n')} lines={2} />
        </fieldset>
      )}
      <Parameters model={model} visit={visit} />
    </>
  );
}

/** The fields that only this model has. */
function Parameters({ model: { parameters }, visit }: Props<MediaModel>) {
  const entries = Object.entries(parameters.properties);
  if (entries.length === 0) return null;
  return (
    <fieldset>
      <legend>{visit.texts.playground.parameters}</legend>
      <div class="grid">
        {entries.map(([name, schema]) => (
          <Parameter name={name} schema={schema} isRequired={parameters.required.includes(name)} visit={visit} />
        ))}
      </div>
    </fieldset>
  );
}

interface ParameterProps {
  readonly name: string;
  readonly schema: ParameterSchema;
  readonly isRequired: boolean;
  readonly visit: MemberVisit;
}

function Parameter({ name, schema, isRequired, visit: { texts, form } }: ParameterProps) {
  const messages = texts.playground;
  const { type, description, default: usual } = schema;
  const field = { name: fieldOf(name), wireName: name, label: name, value: form.text(fieldOf(name)) };
  const choices = type === 'boolean' ? ['true', 'false'] : 'enum' in schema ? schema.enum?.map(String) : undefined;
  if (choices !== undefined) {
    const unset = [['', usual === undefined ? messages.notSet : messages.usual(String(usual))]] as const;
    return <Choice {...field} options={[...unset, ...choices.map((choice) => [choice, choice] as const)]} />;
  }
  const isJson = type === 'array' || type === 'object';
  const hints = [
    description,
    isJson ? 'JSON' : undefined,
    usual === undefined ? undefined : messages.usual(String(usual)),
  ];
  const hint = hints.filter((part) => part !== undefined).join('. ');
  return (
    <Field
      {...field}
      {...(hint !== '' && { hint })}
      {...(isJson && { lines: 2 })}
      {...((type === 'integer' || type === 'number') && { inputMode: 'decimal' })}
      required={isRequired}
    />
  );
}

function Duration({ model: { durationSeconds }, visit: { texts, form } }: Props<VideoModel>) {
  const { min, max, values } = durationSeconds;
  const messages = texts.playground;
  const value = form.text('duration') || String(durationSeconds.default);
  return values === null ? (
    <Field name="duration" label={messages.duration(min, max)} inputMode="numeric" value={value} />
  ) : (
    <Choice
      name="duration"
      label={messages.duration(min, max)}
      value={value}
      options={values.map((seconds) => [String(seconds), String(seconds)])}
    />
  );
}
