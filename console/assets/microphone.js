/* Turns the sound of the microphone into PCM with 16 bits, in pieces of 100 ms. */
const SAMPLES_PER_PIECE = 2_400;

class Microphone extends AudioWorkletProcessor {
  #piece = new Int16Array(SAMPLES_PER_PIECE);
  #length = 0;

  process([[samples = []]]) {
    for (const sample of samples) {
      this.#piece[this.#length] = Math.max(-1, Math.min(1, sample)) * 32_767;
      this.#length += 1;
      if (this.#length < SAMPLES_PER_PIECE) continue;
      this.port.postMessage(this.#piece.buffer, [this.#piece.buffer]);
      this.#piece = new Int16Array(SAMPLES_PER_PIECE);
      this.#length = 0;
    }
    return true;
  }
}

registerProcessor('microphone', Microphone);
