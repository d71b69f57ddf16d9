// The page: buttons, the key, and what a person is told.

import { MicrophoneProblem } from "./audio.js";
import { Conversation } from "./conversation.js";
import { Transcript } from "./transcript.js";

const at = (id) => document.getElementById(id);
const STATES = {
  idle: "Not connected",
  connecting: "Connecting…",
  connected: "Connected, microphone off",
  listening: "Listening",
  hearing: "Hearing you",
  thinking: "Thinking…",
  speaking: "Speaking",
  muted: "Muted",
};

const transcript = new Transcript(at("transcript"), at("empty"));
let conversation = null;
let opening = null; // the connection that is being made
let key = takeKey();

// From the fragment, which no browser sends; it does not stay in the address bar.
function takeKey() {
  const given = new URLSearchParams(location.hash.slice(1)).get("key");
  if (given) {
    history.replaceState(null, "", location.pathname);
    remember(given);
    return given;
  }
  try {
    return sessionStorage.getItem("key");
  } catch {
    return null; // storage is off
  }
}

function remember(value) {
  try {
    if (value) sessionStorage.setItem("key", value);
    else sessionStorage.removeItem("key");
  } catch {
    // storage is off: the key lives as long as the page
  }
}

function showState(name) {
  if (at("status").dataset.state === name) return;
  at("status").dataset.state = name;
  at("status").textContent = STATES[name];
}

function showProblem(message) {
  at("problem").textContent = message ?? "";
  at("problem").hidden = !message;
}

function showControls() {
  const live = conversation !== null;
  const talking = live && conversation.listening;
  const muted = live && conversation.muted;
  at("end").disabled = !live;
  at("mute").disabled = !talking;
  at("mute").setAttribute("aria-pressed", String(muted));
  at("mute").querySelector(".label").textContent = muted ? "Unmute" : "Mute";
  at("talk").disabled = talking;
  at("talk-label").textContent = !talking ? "Tap to talk" : muted ? "Muted" : "Just speak";
}

function askForKey(message) {
  at("key-form").hidden = false;
  showProblem(message);
  at("key").focus();
}

function ended(message) {
  conversation = null;
  showState("idle");
  showControls();
  if (message) showProblem(message);
}

// The conversation, once it is connected. Null where that fails; the person has been told why.
async function connected() {
  if (!key) {
    askForKey(null);
    return null;
  }
  if (conversation?.line) return conversation;
  opening ??= connect().finally(() => {
    opening = null;
  });
  return opening;
}

async function connect() {
  showProblem(null);
  const made = new Conversation(key, transcript, {
    state: showState,
    problem: showProblem,
    ended,
    level: (level) => document.documentElement.style.setProperty("--level", level.toFixed(2)),
  });
  conversation = made;
  showControls();
  try {
    await made.open();
    return made;
  } catch (problem) {
    made.close();
    if (problem.kind === "ended") return null;
    ended(null);
    if (problem.kind === "key") {
      key = null;
      remember(null);
      askForKey(problem.message);
    } else {
      showProblem(problem.message);
    }
    return null;
  }
}

at("talk").addEventListener("click", async () => {
  at("talk").disabled = true;
  const live = await connected();
  try {
    await live?.listen();
  } catch (problem) {
    if (!(problem instanceof MicrophoneProblem)) throw problem;
    showProblem(problem.message);
    at("text").focus();
  } finally {
    showControls();
  }
});

at("mute").addEventListener("click", () => {
  conversation?.mute(!conversation.muted);
  showControls();
});

at("end").addEventListener("click", () => {
  conversation?.close();
  ended(null);
  at("talk").focus();
});

at("text-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = at("text").value.trim();
  if (!text) return;
  const live = await connected();
  if (live === null) return;
  at("text").value = "";
  showProblem(null);
  await live.say(text);
  showControls();
});

at("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key = at("key").value.trim();
  at("key").value = "";
  remember(key);
  at("key-form").hidden = true;
  showProblem(null);
  at("talk").focus();
});

window.addEventListener("pagehide", () => conversation?.close());
if (!key) at("key-form").hidden = false;
