// Questions to the server; what it refuses comes back as an Error in words.

async function read(response) {
  let reply;
  try {
    reply = await response.json();
  } catch {
    throw new Error("The server did not answer in a way that can be read; is it still running?");
  }
  if (!response.ok) throw new Error(reply.error ?? "The server refused to answer.");
  return reply;
}

async function send(address, options) {
  let response;
  try {
    response = await fetch(address, { credentials: "omit", ...options });
  } catch {
    throw new Error("The server cannot be reached; is it still running?");
  }
  return read(response);
}

/** Ask a question with a JSON object. */
export function ask(question, body) {
  return send(`api/${question}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

/** What the model is. */
export function describe() {
  return send("api/model", {});
}

/** Hand a table to the server. */
export function upload(file) {
  return send(`api/table?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
}
