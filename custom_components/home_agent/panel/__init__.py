"""The panel in the sidebar: its commands on the websocket, and the page itself in frontend/."""
