import type { Catalogue, MediaModel } from '../../../catalogue/types.ts';
import type { Form } from '../../form.ts';

/** The body of a create call, as far as the playground has fields for it. */
export interface MediaBody {
  readonly model: string;
  readonly prompt: string;
  readonly images?: readonly string[];
  readonly duration?: number;
  readonly aspect_ratio?: string;
  readonly resolution?: string;
}

export function mediaModels({ videoModels, imageModels }: Catalogue): readonly MediaModel[] {
  return [...videoModels.values(), ...imageModels.values()];
}

/** What a program would send for the same task. What was left empty is not sent. */
export function bodyOf(form: Form): MediaBody {
  const images = form
    .text('images')
    .split(/\s+/)
    .filter((link) => link !== '');
  const [duration, ratio, resolution] = [form.text('duration'), form.text('aspect_ratio'), form.text('resolution')];
  return {
    model: form.text('model'),
    prompt: form.text('prompt'),
    ...(images.length === 0 ? {} : { images }),
    ...(duration === '' ? {} : { duration: Number(duration) }),
    ...(ratio === '' ? {} : { aspect_ratio: ratio }),
    ...(resolution === '' ? {} : { resolution }),
  };
}
