"""A shop whose state is written down by hand, and a task in it."""

from redqueen.worlds.site import _task

SHOP = {
    "ui": {"page": "home"},
    "stock": {"cup": 3, "pen": 2},
    "cart": {},
    "orders": {},
    "user": {"city": "rome"},
}
START = _task("shop1", "shop", "Set the city to oslo.", SHOP, {**SHOP, "user": {"city": "oslo"}})
