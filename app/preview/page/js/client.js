// The page's end of the worker.

export class Client {
  /** Settled when the worker listens, or cannot be loaded. */
  ready;
  #worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  #asked = new Map();
  #sequence = 0;
  #on;

  /** @param {{result: Function, failed: Function, busy: Function}} on  called for the newest request alone */
  constructor(on) {
    this.#on = { ...on };
    this.#worker.onmessage = ({ data }) => this.#hear(data);
    this.ready = new Promise((resolve) => {
      this.#on.ready = resolve;
    });
    this.#worker.onerror = () => {
      on.failed({
        error: {
          message: "A part of the page could not be loaded.",
          hint: "Load the page again; a browser from before 2024 is too old for it.",
        },
      });
      this.#on.ready();
    };
  }

  /** Asks what manifests become; a request that still runs is given up. */
  convert(body, query) {
    this.#sequence += 1;
    this.#worker.postMessage({ type: "convert", sequence: this.#sequence, body, query });
  }

  cancel() {
    this.#sequence += 1;
    this.#worker.postMessage({ type: "cancel" });
  }

  /** An item of the last result, its diff, or all of its YAML. */
  ask(type, index) {
    const id = this.#asked.size === 0 ? 1 : Math.max(...this.#asked.keys()) + 1;
    this.#worker.postMessage({ type, index, id });
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
    });
  }

  #hear(data) {
    if (data.type === "answer") {
      const { resolve, reject } = this.#asked.get(data.id);
      this.#asked.delete(data.id);
      if (data.error === undefined) resolve(data.result);
      else reject(new Error(data.error));
    } else if (data.sequence === undefined || data.sequence === this.#sequence) {
      this.#on[data.type](data);
    }
  }
}
