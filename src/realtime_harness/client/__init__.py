"""Our HRP client: injected transport and clock, typed events beside the raw JSON. Imports only `realtime`."""

from realtime_harness.client.heard import Playback
from realtime_harness.client.hrp import HrpClient, Received
from realtime_harness.client.microphone import Microphone
from realtime_harness.client.transport import Transport, api_root, connect_websocket, hrp_url

__all__ = ["HrpClient", "Microphone", "Playback", "Received", "Transport", "api_root", "connect_websocket", "hrp_url"]
