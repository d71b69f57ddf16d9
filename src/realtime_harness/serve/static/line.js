// The line to the server: an OpenAI-Realtime-shaped WebSocket.

// What may wait in the browser to be sent: ten seconds of audio in base64. More is no conversation any more.
const MAX_BEHIND_BYTES = 10 * 64000;

export class LineProblem extends Error {
  constructor(message, kind) {
    super(message);
    this.kind = kind; // "key", "full", "network"
  }
}

export class Line {
  // Resolves once the session is there. Throws LineProblem, in words for people. `onClosed(code, reason)` is called
  // once, when the line ends by itself.
  static async open(key, { onEvent, onClosed }) {
    const url = new URL("/v1/realtime", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    let socket;
    try {
      socket = new WebSocket(url, ["realtime", `openai-insecure-api-key.${key}`]);
    } catch {
      throw new LineProblem("This is not a key: it has characters that no key has.", "key");
    }
    const line = new Line(socket, onClosed);
    await new Promise((resolve, reject) => {
      let refusal = null;
      socket.onmessage = ({ data }) => {
        const event = JSON.parse(data);
        if (event.type === "error") refusal = event.error;
        if (event.type === "session.created") {
          socket.onmessage = ({ data: text }) => onEvent(JSON.parse(text));
          socket.onclose = (closed) => onClosed(closed.code, closed.reason);
          resolve();
        }
      };
      socket.onclose = async (closed) => {
        reject(refusal ? new LineProblem(refusal.message, "full") : await whyNot(key, closed.reason));
      };
    });
    return line;
  }

  constructor(socket, onClosed) {
    this.socket = socket;
    this.onClosed = onClosed;
  }

  // Ends the line where the network does not take what is sent.
  send(event) {
    if (this.socket.readyState !== WebSocket.OPEN) return;
    if (this.socket.bufferedAmount > MAX_BEHIND_BYTES) {
      this.close();
      this.onClosed(1000, "Your connection is too slow to carry your voice. Try again on a better one.");
      return;
    }
    this.socket.send(JSON.stringify(event));
  }

  append(pcm) {
    this.send({ type: "input_audio_buffer.append", audio: toBase64(pcm) });
  }

  close() {
    this.socket.onclose = null;
    this.socket.onmessage = null;
    this.socket.close(1000);
  }
}

// A browser does not tell why an upgrade failed; plain HTTP at the same place does.
async function whyNot(key, reason) {
  let answer;
  try {
    answer = await fetch("/v1/realtime", { headers: { authorization: `Bearer ${key}` }, cache: "no-store" });
  } catch {
    return new LineProblem("The server cannot be reached. Is it running?", "network");
  }
  if (answer.status === 401) return new LineProblem("This key is not the server's.", "key");
  const said = await answer.json().catch(() => ({}));
  if (answer.status !== 426 && said.error) return new LineProblem(said.error.message, "full");
  return new LineProblem(reason || "The connection failed. Try again.", "network");
}

function toBase64(buffer) {
  const bytes = new Uint8Array(buffer);
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return btoa(text);
}

export function fromBase64(text) {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0)).buffer;
}
