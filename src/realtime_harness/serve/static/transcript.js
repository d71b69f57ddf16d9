// Both sides' words, in the order in which they were begun.

export class Transcript {
  constructor(list, empty) {
    this.list = list;
    this.empty = empty;
    this.entries = new Map();
  }

  // The entry of an item, made where there is none. `who` is "you" or "agent".
  entry(id, who) {
    let entry = this.entries.get(id);
    if (entry === undefined) {
      this.empty.hidden = true;
      const box = document.createElement("div");
      box.className = `said ${who} waiting`;
      const name = document.createElement("span");
      name.className = "who";
      name.textContent = who === "you" ? "You" : "Agent";
      const words = document.createElement("span");
      words.className = "words";
      words.textContent = "…";
      box.append(name, words);
      this.list.append(box);
      entry = { box, words, text: "" };
      this.entries.set(id, entry);
      this.#follow();
    }
    return entry;
  }

  add(id, who, words) {
    const entry = this.entry(id, who);
    this.set(id, who, entry.text + words);
  }

  set(id, who, text) {
    const entry = this.entry(id, who);
    entry.text = text;
    entry.words.textContent = text.trim() || "…";
    entry.box.classList.toggle("waiting", !text.trim());
    this.#follow();
  }

  cut(id) {
    const entry = this.entries.get(id);
    if (entry === undefined || entry.cut) return;
    entry.cut = true;
    const note = document.createElement("span");
    note.className = "cut";
    note.textContent = " (interrupted)";
    entry.box.append(note);
  }

  drop(id) {
    this.entries.get(id)?.box.remove();
    this.entries.delete(id);
  }

  #follow() {
    this.list.scrollTop = this.list.scrollHeight;
  }
}
