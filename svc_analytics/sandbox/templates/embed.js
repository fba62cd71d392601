(function () {
  "use strict";
  var own = document.currentScript;
  var session = own.getAttribute("data-session") || "";
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(session)) {
    console.error("embed.js: data-session must be the id of a checkout session");
    return;
  }
  var address = new URL("/checkout/" + session, own.src);
  var button = document.createElement("button");
  var words = document.createElement("span");
  var shop = document.createElement("span");
  button.type = "button";
  button.style.cssText = "font:600 16px/1.35 system-ui,sans-serif;color:#fff;" +
    "background:#1b57b5;border:1px solid #1b57b5;border-radius:8px;padding:10px 20px;" +
    "min-width:11em;max-width:100%;cursor:pointer;overflow-wrap:anywhere";
  words.style.display = shop.style.display = "block";
  shop.style.fontWeight = "400";
  shop.style.fontSize = "13px";
  words.textContent = own.getAttribute("data-label") || "Pay";
  button.append(words, shop);
  button.addEventListener("click", function () {
    window.location.assign(address);
  });
  own.insertAdjacentElement("afterend", button);
  fetch(address + "/button", {credentials: "omit"}).then(function (answer) {
    return answer.ok ? answer.json() : Promise.reject(new Error(answer.status));
  }).then(function (said) {
    words.textContent = own.getAttribute("data-label") || said.label;
    shop.textContent = said.shop;
    shop.dir = "auto";
  }).catch(function (error) {
    console.warn("embed.js: the button does not name the sum: " + error.message);
  });
})();
