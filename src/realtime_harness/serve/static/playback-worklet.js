// Plays PCM16 mono 24 kHz as it comes, at the device's rate. Knows how much of each item was played, and stops at once.

import { Resampler } from "./resample.js";

const RATE_HZ = 24000;
const START_MS = 60; // waited for before the first sound, so that a late frame makes no gap

class Playback extends AudioWorkletProcessor {
  constructor() {
    super();
    this.resampler = new Resampler(RATE_HZ, sampleRate);
    this.queue = []; // {item, pcm}
    this.ready = new Float32Array(0); // at the device's rate
    this.readyAt = 0;
    this.item = null;
    this.played = 0; // samples of `item`, at 24 kHz
    this.running = false;
    this.port.onmessage = ({ data }) => this.take(data);
  }

  take(message) {
    if (message.type === "audio") {
      this.queue.push({ item: message.item, pcm: new Int16Array(message.pcm) });
    } else if (message.type === "stop") {
      const cut = this.running || this.queue.length > 0 ? this.item ?? this.queue[0].item : null;
      this.port.postMessage({ type: "stopped", ticket: message.ticket, item: cut, ms: this.heardMs() });
      this.queue = [];
      this.idle();
    }
  }

  heardMs() {
    return Math.floor((this.played * 1000) / RATE_HZ);
  }

  idle() {
    this.ready = new Float32Array(0);
    this.readyAt = 0;
    this.item = null;
    this.played = 0;
    this.running = false;
    this.resampler.reset();
  }

  // The next block at the device's rate; false when there is none.
  refill() {
    const next = this.queue.shift();
    if (next === undefined) return false;
    if (next.item !== this.item) {
      this.item = next.item;
      this.played = 0;
    }
    const floats = Float32Array.from(next.pcm, (sample) => sample / 32768);
    this.ready = this.resampler.feed(floats);
    this.readyAt = 0;
    return true;
  }

  process(_, [output]) {
    const channel = output[0];
    if (!this.running) {
      const waiting = this.queue.reduce((sum, { pcm }) => sum + pcm.length, 0);
      this.waited = waiting > 0 ? (this.waited ?? 0) + channel.length : 0;
      const longEnough = (this.waited * 1000) / sampleRate >= 3 * START_MS;
      if (waiting === 0 || (waiting < (RATE_HZ * START_MS) / 1000 && !longEnough)) return true;
      this.running = true;
      this.waited = 0;
      this.port.postMessage({ type: "began" });
    }
    for (let index = 0; index < channel.length; ) {
      if (this.readyAt >= this.ready.length && !this.refill()) {
        this.port.postMessage({ type: "ended", item: this.item });
        this.idle();
        break;
      }
      const count = Math.min(channel.length - index, this.ready.length - this.readyAt);
      channel.set(this.ready.subarray(this.readyAt, this.readyAt + count), index);
      this.readyAt += count;
      this.played += (count * RATE_HZ) / sampleRate;
      index += count;
    }
    for (let other = 1; other < output.length; other++) output[other].set(channel);
    return true;
  }
}

registerProcessor("playback", Playback);
