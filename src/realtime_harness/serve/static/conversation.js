// One conversation: what comes from the server, and what a person does, made into words, sound and events.

import { Loudspeaker, Microphone } from "./audio.js";
import { Line, LineProblem, fromBase64 } from "./line.js";

export class Conversation {
  // `on`: state(name), problem(message), level(0..1), ended(message or null).
  constructor(key, transcript, on) {
    this.key = key;
    this.transcript = transcript;
    this.on = on;
    this.line = null;
    this.speaker = null;
    this.microphone = null;
    this.sounding = false; // something is heard now
    this.hearing = false; // the person speaks, says the server
    this.response = null; // the response that is under way
    this.cut = new Set(); // items that were stopped: what still comes of them is not played
    this.waiting = []; // events that wait for the response that is under way to end
    this.typed = 0;
    this.muted = false;
    this.closed = false;
  }

  // Connects. Throws LineProblem.
  async open() {
    this.on.state("connecting");
    this.speaker = await Loudspeaker.open({
      onBegan: () => this.#sound(true),
      onEnded: () => this.#sound(false),
    });
    const line = await Line.open(this.key, {
      onEvent: (event) => this.#take(event),
      onClosed: (code, reason) => this.#over(code === 1000 && !reason ? null : reason || `The line was lost (${code}).`),
    });
    if (this.closed) {
      line.close(); // ended while it was connecting
      throw new LineProblem("", "ended");
    }
    this.line = line;
    this.line.send({
      type: "session.update",
      session: { type: "realtime", audio: { input: { transcription: { model: "whisper-1" } } } },
    });
    this.#settle();
  }

  // Opens the microphone. Throws MicrophoneProblem.
  async listen() {
    this.microphone = await Microphone.open((pcm, rms) => {
      this.line?.append(pcm);
      this.on.level(Math.min(1, rms * 6));
    });
    if (this.line === null) {
      this.close(); // ended while the browser was asking
      return;
    }
    this.#settle();
  }

  get listening() {
    return this.microphone !== null;
  }

  mute(muted) {
    this.muted = muted;
    if (this.microphone !== null) this.microphone.muted = muted;
    this.#settle();
  }

  // A typed message; it interrupts, as speech does.
  async say(text) {
    await this.#interrupt();
    const id = `item_typed${Date.now().toString(36)}${this.typed++}`;
    this.transcript.set(id, "you", text);
    const content = [{ type: "input_text", text }];
    this.line?.send({ type: "conversation.item.create", item: { id, type: "message", role: "user", content } });
    if (this.response !== null) {
      this.line?.send({ type: "response.cancel", response_id: this.response });
      this.waiting.push({ type: "response.create" });
    } else {
      this.line?.send({ type: "response.create" });
      this.on.state("thinking");
    }
  }

  close() {
    this.closed = true;
    this.line?.close();
    this.line = null;
    this.microphone?.close();
    this.microphone = null;
    this.speaker?.close();
    this.speaker = null;
    this.on.level(0);
  }

  async #interrupt() {
    const cut = await this.speaker?.stop();
    this.#sound(false);
    if (!cut) return;
    this.cut.add(cut.item);
    this.transcript.cut(cut.item);
    this.line?.send({
      type: "conversation.item.truncate",
      item_id: cut.item,
      content_index: 0,
      audio_end_ms: cut.ms,
    });
  }

  #take(event) {
    switch (event.type) {
      case "input_audio_buffer.speech_started":
        this.hearing = true;
        this.transcript.entry(event.item_id, "you");
        this.#interrupt();
        break;
      case "input_audio_buffer.speech_stopped":
        this.hearing = false;
        break;
      case "conversation.item.input_audio_transcription.completed":
        if (event.transcript.trim()) this.transcript.set(event.item_id, "you", event.transcript);
        else this.transcript.drop(event.item_id);
        break;
      case "conversation.item.input_audio_transcription.failed":
        this.transcript.set(event.item_id, "you", "(not understood)");
        break;
      case "response.created":
        this.response = event.response.id;
        break;
      case "response.output_audio_transcript.delta":
      case "response.output_text.delta":
        this.transcript.add(event.item_id, "agent", event.delta);
        break;
      case "response.output_audio.delta":
        if (!this.cut.has(event.item_id)) this.speaker?.play(event.item_id, fromBase64(event.delta));
        break;
      case "response.done":
        this.response = null;
        if (event.response.status === "failed") {
          this.on.problem(event.response.status_details?.error?.message || "The answer failed.");
        }
        for (const next of this.waiting.splice(0)) this.line?.send(next);
        break;
      case "error":
        // A cancel that came just too late is nobody's problem.
        if (event.error.code !== "response_cancel_not_active") this.on.problem(event.error.message);
        break;
    }
    this.#settle();
  }

  #sound(sounding) {
    this.sounding = sounding;
    this.#settle();
  }

  #settle() {
    if (this.line === null) return;
    if (this.hearing) this.on.state("hearing");
    else if (this.sounding) this.on.state("speaking");
    else if (this.response !== null) this.on.state("thinking");
    else if (this.microphone === null) this.on.state("connected");
    else this.on.state(this.muted ? "muted" : "listening");
  }

  #over(message) {
    this.close();
    this.on.ended(message);
  }
}
