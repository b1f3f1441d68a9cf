/** The files in examples of requests that need one. */
import { USUAL_PCM, wavHeader } from '../../../domain/wav.ts';

/** The picture in examples of requests that need one: 512 by 512 pixels, which every model accepts. */
export const EXAMPLE_PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAgAAAAIAAgMAAACJFjxpAAAADFBMVEXyuIorTW738+oAAABeRB+ZAAABBUlEQVR42u3OwQkAIAwAsS7pkk7Zn/6rUAq5AY5ESJIkSZIkSZIkSZIkSZIkSZIkSZIkSVK9fQIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAYDVj1LuBhAgAAAAAAAAAAMBrwJQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgHZAAm7Gh1d0QqwHAAAAAElFTkSuQmCC',
  'base64',
);

const TONE = { hertz: 440, samples: USUAL_PCM.samplesPerSecond / 2, amplitude: 8_000 };

/** Half a second of a tone, in place of speech. */
export const EXAMPLE_SPEECH = Buffer.concat([
  wavHeader(USUAL_PCM, TONE.samples * 2),
  Buffer.from(
    Int16Array.from({ length: TONE.samples }, (_, sample) =>
      Math.round(TONE.amplitude * Math.sin((2 * Math.PI * TONE.hertz * sample) / USUAL_PCM.samplesPerSecond)),
    ).buffer,
  ),
]);
