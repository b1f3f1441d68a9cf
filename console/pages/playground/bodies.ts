/** Turns forms into request bodies of the API. Omits empty fields. */
import type { MediaModel } from '../../../catalogue/types.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { readParameter } from '../../../domain/model-parameters.ts';
import type { Task } from '../../../domain/task.ts';
import { Form } from '../../form.ts';
import { isMedia, type PlaygroundModel } from './models.ts';

export function bodyOf(model: PlaygroundModel, form: Form): JsonObject {
  return isMedia(model) ? mediaBodyOf(model, form) : chatBodyOf(model.id, form);
}

/** Fills the form with the request of an earlier task. Links to inputs may have expired. */
export function formOfTask({ model, request }: Pick<Task, 'model' | 'request'>): Form {
  const { prompt, images = [], durationSeconds, aspectRatio, resolution, parameters = {} } = request;
  const fields = new URLSearchParams({ model, prompt });
  if (durationSeconds !== undefined) fields.set('duration', String(durationSeconds));
  if (aspectRatio !== undefined) fields.set('aspect_ratio', aspectRatio);
  if (resolution !== undefined) fields.set('resolution', resolution);
  for (const link of images) fields.append('images', link);
  for (const [name, value] of Object.entries(parameters)) {
    fields.set(fieldOf(name), typeof value === 'string' ? value : JSON.stringify(value));
  }
  return new Form(fields);
}

/** @param prompt replaces an empty prompt, for prices and examples */
export function withPrompt(form: Form, prompt: string): Form {
  return form.text('prompt') === '' ? form.with('prompt', prompt) : form;
}

function mediaBodyOf(model: MediaModel, form: Form): JsonObject {
  // The links of uploaded pictures and typed links. Keeps one link more than allowed, so that the API refuses too many.
  const images = form.words('images', model.images.max);
  const duration = form.optional('duration');
  return {
    model: model.id,
    prompt: form.text('prompt'),
    ...(images.length > 0 && { images }),
    ...(duration !== null && { duration: Number(duration) }),
    ...given(form, 'aspect_ratio'),
    ...given(form, 'resolution'),
    ...parametersOf(model, form),
  };
}

/** The form's name for a field that only the model has. */
export const fieldOf = (parameter: string): string => `parameter.${parameter}`;

function parametersOf({ parameters: { properties } }: MediaModel, form: Form): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, schema]) => {
      const text = form.optional(fieldOf(name));
      return text === null ? [] : [[name, readParameter(text, schema)]];
    }),
  );
}

function chatBodyOf(model: string, form: Form): JsonObject {
  const system = form.optional('system');
  const maxTokens = form.optional('max_tokens');
  const user = { role: 'user', content: form.text('prompt') };
  return {
    model,
    messages: system === null ? [user] : [{ role: 'system', content: system }, user],
    ...(maxTokens !== null && { max_tokens: Number(maxTokens) }),
  };
}

function given(form: Form, name: string): Record<string, string> {
  const value = form.optional(name);
  return value === null ? {} : { [name]: value };
}
