// The microphone at the device's rate, out as PCM16 mono 24 kHz in pieces of 40 ms, each with its loudness.

import { Resampler } from "./resample.js";

const RATE_HZ = 24000;
const PIECE = (RATE_HZ * 40) / 1000;

class Capture extends AudioWorkletProcessor {
  constructor() {
    super();
    this.resampler = new Resampler(sampleRate, RATE_HZ);
    this.piece = new Int16Array(PIECE);
    this.filled = 0;
    this.energy = 0;
  }

  process([input]) {
    if (input.length === 0) return true;
    let mono = input[0];
    if (input.length > 1) {
      mono = mono.map((_, index) => input.reduce((sum, channel) => sum + channel[index], 0) / input.length);
    }
    for (const sample of this.resampler.feed(mono)) {
      const clipped = Math.max(-1, Math.min(1, sample));
      this.energy += clipped * clipped;
      this.piece[this.filled++] = Math.round(clipped * 32767);
      if (this.filled === PIECE) {
        this.port.postMessage({ pcm: this.piece.buffer, rms: Math.sqrt(this.energy / PIECE) }, [this.piece.buffer]);
        this.piece = new Int16Array(PIECE);
        this.filled = 0;
        this.energy = 0;
      }
    }
    return true;
  }
}

registerProcessor("capture", Capture);
