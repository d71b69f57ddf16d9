// Streaming windowed-sinc resampling of mono floats: clean at any ratio, and with no seam between blocks.

const HALF_WIDTH = 16; // zero crossings on each side
const STEPS = 256; // table entries for each zero crossing

export class Resampler {
  constructor(fromHz, toHz) {
    this.step = fromHz / toHz;
    this.cutoff = Math.min(1, toHz / fromHz) * 0.95;
    this.reach = Math.ceil(HALF_WIDTH / this.cutoff);
    this.table = kernel();
    this.reset();
  }

  reset() {
    this.held = new Float32Array(this.reach); // silence before the first sample
    this.at = this.reach; // where the next output lies, in samples of `held`
  }

  // Takes a block, returns what can be made of it; the rest comes with the next one.
  feed(block) {
    const input = new Float32Array(this.held.length + block.length);
    input.set(this.held);
    input.set(block, this.held.length);
    const count = Math.max(0, Math.ceil((input.length - this.reach - this.at) / this.step));
    const out = new Float32Array(count);
    let at = this.at;
    for (let index = 0; index < count; index++, at += this.step) {
      let sum = 0;
      const last = Math.floor(at) + this.reach;
      for (let tap = last - 2 * this.reach + 1; tap <= last; tap++) {
        const distance = Math.abs(tap - at) * this.cutoff;
        if (tap >= 0 && tap < input.length && distance < HALF_WIDTH) {
          sum += input[tap] * this.table[Math.round(distance * STEPS)];
        }
      }
      out[index] = sum * this.cutoff;
    }
    const kept = Math.min(input.length, Math.max(0, Math.floor(at) - this.reach));
    this.held = input.slice(kept);
    this.at = at - kept;
    return out;
  }
}

function kernel() {
  const table = new Float32Array(HALF_WIDTH * STEPS + 1);
  for (let index = 0; index < table.length; index++) {
    const x = index / STEPS;
    const sinc = x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
    table[index] = sinc * (0.5 + 0.5 * Math.cos((Math.PI * x) / HALF_WIDTH));
  }
  return table;
}
