/* Browsers start no worker for a page that is opened as a file. There the search runs in a hidden frame instead. */
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.ready = new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
      this.frame = frame;
      window.addEventListener("message", (event) => {
        if (event.source === frame.contentWindow) {
          this.dispatchEvent(new MessageEvent("message", { data: event.data }));
        }
      });
      const script = document.createElement("script");
      script.src = new URL(url, location.href).href;
      frame.srcdoc = `<script>postMessage = (message) => parent.postMessage(message, "*");</` + `script>${script.outerHTML}`;
      document.body.append(frame);
    }
    postMessage(message) {
      // Not its postMessage, which the frame has replaced by the way back.
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data: message })));
    }
    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
