"""Embed script: a button on the shop's page that opens the widget of a session.

Not shown by the contract, our choice: the script is `/embed.js` on the widget's host and
takes the session id in `data-session` and the button's text in `data-label`. The button
opens the widget in the whole window: in a frame, the shop's page could cover the place
where the customer signs in, so the widget refuses to be framed.
"""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from svc_analytics.sandbox.http.responses import date_header
from svc_analytics.sandbox.resources.service import Service

PATH = "/embed.js"
_SCRIPT = """(function () {
  "use strict";
  var own = document.currentScript;
  var session = own.getAttribute("data-session") || "";
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(session)) {
    console.error("embed.js: data-session must be the id of a checkout session");
    return;
  }
  var button = document.createElement("button");
  button.type = "button";
  button.textContent = own.getAttribute("data-label") || "Pay";
  button.addEventListener("click", function () {
    window.location.assign(new URL("/checkout/" + session, own.src));
  });
  own.insertAdjacentElement("afterend", button);
})();
"""


def embed_route(service: Service) -> Route:
    """Return the route of the embed script."""

    async def show(_: Request) -> Response:
        headers = {**date_header(service), "x-content-type-options": "nosniff"}
        return Response(_SCRIPT, 200, headers, media_type="text/javascript")

    return Route(PATH, show, methods=["GET"])
