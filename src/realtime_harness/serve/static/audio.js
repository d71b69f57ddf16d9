// The two ends of the sound: a microphone that gives pieces of PCM16 24 kHz, and a loudspeaker that takes them.

const STOP_MS = 500; // what a loudspeaker gets to say what it has played

let context = null;

// One context for both; it may only start after a tap or a key press.
async function running() {
  context ??= new AudioContext({ latencyHint: "interactive" });
  await context.resume();
  return context;
}

export class MicrophoneProblem extends Error {}

export class Microphone {
  // `onPiece(pcm: ArrayBuffer, rms)` is called every 40 ms. Throws MicrophoneProblem, in words for people.
  static async open(onPiece) {
    if (!navigator.mediaDevices?.getUserMedia) {
      throw new MicrophoneProblem(
        "This browser gives pages a microphone only over https or on localhost. You can type instead.",
      );
    }
    let stream;
    try {
      stream = await navigator.mediaDevices.getUserMedia({
        audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true },
      });
    } catch (problem) {
      throw new MicrophoneProblem(explain(problem));
    }
    try {
      const audio = await running();
      await audio.audioWorklet.addModule("/page/capture-worklet.js");
      const source = audio.createMediaStreamSource(stream);
      const node = new AudioWorkletNode(audio, "capture", { numberOfOutputs: 0 });
      node.port.onmessage = ({ data }) => onPiece(data.pcm, data.rms);
      source.connect(node);
      return new Microphone(stream, source, node);
    } catch (problem) {
      stream.getTracks().forEach((track) => track.stop());
      throw new MicrophoneProblem(`The microphone could not be used (${problem.message}). You can type instead.`);
    }
  }

  constructor(stream, source, node) {
    this.stream = stream;
    this.source = source;
    this.node = node;
  }

  // Muted, it sends silence: the other side's clock goes on.
  set muted(muted) {
    for (const track of this.stream.getAudioTracks()) track.enabled = !muted;
  }

  close() {
    this.node.port.onmessage = null;
    this.source.disconnect();
    for (const track of this.stream.getTracks()) track.stop();
  }
}

function explain(problem) {
  switch (problem.name) {
    case "NotAllowedError":
    case "SecurityError":
      return "The microphone is blocked for this page. Allow it in the browser's site settings, or type instead.";
    case "NotFoundError":
    case "OverconstrainedError":
      return "No microphone was found. Plug one in, or type instead.";
    case "NotReadableError":
      return "The microphone is in use by another program. Close that, or type instead.";
    default:
      return `The microphone could not be opened (${problem.name}). You can type instead.`;
  }
}

export class Loudspeaker {
  // `onBegan()` and `onEnded()` tell when sound starts and runs out.
  static async open({ onBegan, onEnded }) {
    const audio = await running();
    await audio.audioWorklet.addModule("/page/playback-worklet.js");
    const node = new AudioWorkletNode(audio, "playback", { numberOfInputs: 0, outputChannelCount: [1] });
    node.connect(audio.destination);
    return new Loudspeaker(audio, node, onBegan, onEnded);
  }

  constructor(audio, node, onBegan, onEnded) {
    this.audio = audio;
    this.node = node;
    this.tickets = new Map();
    this.next = 0;
    node.port.onmessage = ({ data }) => {
      if (data.type === "began") onBegan();
      else if (data.type === "ended") onEnded(data.item);
      else if (data.type === "stopped") {
        this.tickets.get(data.ticket)?.(data);
        this.tickets.delete(data.ticket);
      }
    };
  }

  play(item, pcm) {
    this.node.port.postMessage({ type: "audio", item, pcm }, [pcm]);
  }

  // Stops at once; resolves to the item that was cut and the milliseconds of it that were heard, or to null, also where
  // the loudspeaker does not answer: it is suspended or closed then, and nothing is heard.
  stop() {
    const ticket = this.next++;
    return new Promise((resolve) => {
      const late = setTimeout(() => {
        this.tickets.delete(ticket);
        resolve(null);
      }, STOP_MS);
      this.tickets.set(ticket, ({ item, ms }) => {
        clearTimeout(late);
        const delayMs = ((this.audio.baseLatency || 0) + (this.audio.outputLatency || 0)) * 1000;
        resolve(item === null ? null : { item, ms: Math.max(0, Math.floor(ms - delayMs)) });
      });
      this.node.port.postMessage({ type: "stop", ticket });
    });
  }

  close() {
    this.node.port.onmessage = null;
    this.node.disconnect();
  }
}
