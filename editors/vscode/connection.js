// JSON-RPC messages over the pipes of a process, each after a header with its length.
"use strict";

/** Splits a stream of bytes into messages. */
class MessageReader {
  constructor(onMessage) {
    this.onMessage = onMessage;
    this.bytes = Buffer.alloc(0);
  }

  push(chunk) {
    this.bytes = Buffer.concat([this.bytes, chunk]);
    for (;;) {
      const end = this.bytes.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = /^Content-Length: *(\d+)/im.exec(this.bytes.toString("ascii", 0, end));
      if (!length) throw new Error("a message of the language server has no length");
      const start = end + 4;
      const stop = start + Number(length[1]);
      if (this.bytes.length < stop) return;
      const body = this.bytes.toString("utf8", start, stop);
      this.bytes = this.bytes.subarray(stop);
      this.onMessage(JSON.parse(body));
    }
  }
}

/** A connection to a language server: requests with their answers, and notifications. */
class Connection {
  /** `input` is read, `output` is written; `onNotification` gets a method and its parameters. */
  constructor(input, output, onNotification) {
    this.output = output;
    this.onNotification = onNotification;
    this.lastId = 0;
    this.waiting = new Map();
    this.isClosed = false;
    const reader = new MessageReader((message) => this.receive(message));
    input.on("data", (chunk) => reader.push(chunk));
  }

  receive(message) {
    if (message.method) {
      this.onNotification(message.method, message.params);
      return;
    }
    const waiting = this.waiting.get(message.id);
    if (!waiting) return;
    this.waiting.delete(message.id);
    if (message.error) waiting.reject(new Error(message.error.message));
    else waiting.resolve(message.result);
  }

  write(message) {
    if (this.isClosed) return;
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    this.output.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }

  notify(method, params) {
    this.write({ method, params });
  }

  request(method, params) {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      // A server that has ended answers nothing.
      if (this.isClosed) return reject(new Error("the server has ended"));
      this.waiting.set(id, { resolve, reject });
      this.write({ id, method, params });
    });
  }

  /** Rejects the requests that are not answered, and all later ones. */
  close() {
    this.isClosed = true;
    for (const waiting of this.waiting.values()) waiting.reject(new Error("the server has ended"));
    this.waiting.clear();
  }
}

module.exports = { Connection, MessageReader };
