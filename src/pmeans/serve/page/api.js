// Requests to the server that this page came from.

const KEPT = "pmeans-token";
const TRIES = 5;

export const token = {
  get: () => sessionStorage.getItem(KEPT),
  set: (value) => sessionStorage.setItem(KEPT, value),
};

/** An answer that is not one: `message` is the server's own sentence. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Where a path is, also if a proxy has put the server under a folder. */
export const address = (path) => new URL(path, document.baseURI).href;

/**
 * Ask the server; a body is sent as JSON, fields that are undefined are left out.
 * A busy server (429) is asked again when it said, until `signal` stops it.
 */
export async function ask(path, body, signal) {
  const headers = {};
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  if (body) headers["Content-Type"] = "application/json";
  const request = { method: body ? "POST" : "GET", headers, signal };
  if (body) request.body = JSON.stringify(body);
  for (let left = TRIES; ; left--) {
    const answer = await reached(path, request);
    if (answer.ok) return answer.json();
    if (answer.status !== 429 || left === 1) {
      throw new Refusal(answer.status, await sentence(answer));
    }
    await pause(1000 * (Number(answer.headers.get("Retry-After")) || 1), signal);
  }
}

async function reached(path, request) {
  try {
    return await fetch(address(path), request);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "The server does not answer. Is it still running?");
  }
}

async function sentence(answer) {
  try {
    return (await answer.json()).error;
  } catch {
    return `The server answers ${answer.status}.`;
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("another request came after it", "AbortError"));
    });
  });
}
