/** Detects speech in audio by its loudness, and counts time by the audio itself. */
import { millisecondsOf } from './tone.ts';

const LOUD = 500;
const SILENCE_MS = 200;
/** Samples that are looked at. */
const STRIDE_BYTES = 64;

export class VoiceActivity {
  #heardMs = 0;
  #silentMs = 0;
  #isSpeaking = false;

  /** The audio in the buffer, in milliseconds. */
  get heardMs(): number {
    return Math.round(this.#heardMs);
  }

  /** @returns whether speech started or stopped */
  hear(pcm: Buffer): 'started' | 'stopped' | null {
    const ms = millisecondsOf(pcm);
    this.#heardMs += ms;
    if (isLoud(pcm)) {
      this.#silentMs = 0;
      if (this.#isSpeaking) return null;
      this.#isSpeaking = true;
      return 'started';
    }
    this.#silentMs += ms;
    if (!this.#isSpeaking || this.#silentMs < SILENCE_MS) return null;
    this.#isSpeaking = false;
    return 'stopped';
  }

  clear(): void {
    this.#heardMs = 0;
    this.#silentMs = 0;
  }
}

function isLoud(pcm: Buffer): boolean {
  for (let at = 0; at + 1 < pcm.length; at += STRIDE_BYTES) if (Math.abs(pcm.readInt16LE(at)) > LOUD) return true;
  return false;
}
