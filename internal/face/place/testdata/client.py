"""An agent written from the text of the protocol, with the standard library alone."""
import datetime
import hashlib
import json
import os
import sys
import urllib.error
import urllib.request


class Client:
    def __init__(self, place, agent_id):
        self.base = place
        self.agent_id = agent_id

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data=data, method=method, headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)

    def register(self):
        status, answer = self.call("POST", "/place/v1/register", {
            "name": "Python MMP Client", "instance_id": self.agent_id, "capabilities": ["introduce"],
        })
        assert status == 200 and answer["status"] == "registered", answer
        return answer["agent_id"]

    def introduction(self):
        return {
            "id": "msg_" + os.urandom(8).hex(), "action": "introduce", "from": self.agent_id,
            "timestamp": datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None).isoformat() + "Z",
            "protocol_version": "1.0.0",
            "payload": {"identity": {"name": "Python Agent", "instance_id": self.agent_id}, "capabilities": ["introduce"], "extensions": []},
        }


def main(place):
    ada, bob = Client(place, "py-ada"), Client(place, "py-bob")
    ids = [ada.register(), bob.register()]
    assert ids == ["agent_py-ada", "agent_py-bob"], ids
    status, listed = ada.call("GET", "/place/v1/agents")
    assert status == 200 and {a["id"] for a in listed["agents"]} >= set(ids) and listed["count"] == len(listed["agents"]), listed

    status, result = ada.call("POST", "/meeting/v1/message", ada.introduction())
    assert status == 200 and result["status"] == "received" and result["suggested_response"]["action"] == "introduce", result
    status, result = ada.call("POST", "/meeting/v1/message", dict(ada.introduction(), action="debate"))
    assert status == 200 and result["status"] == "error" and "debate" in result["error"], result

    blob = "BASE64_ENCODED_ENCRYPTED_MESSAGE"
    status, sent = ada.call("POST", "/place/v1/relay/send", {
        "from": ids[0], "to": ids[1], "encrypted_blob": blob,
        "blob_hash": "sha256:" + hashlib.sha256(blob.encode()).hexdigest(), "message_type": "skill_content",
    })
    assert status == 201 and sent["status"] == "queued" and sent["relay_id"].startswith("relay_"), sent
    status, refused = ada.call("POST", "/place/v1/relay/send", {"from": ids[0]})
    assert status == 400 and refused["error"] == "to is required", refused
    status, peeked = bob.call("GET", "/place/v1/relay/peek?agent_id=" + ids[1])
    assert status == 200 and peeked["count"] == 1, peeked
    status, got = bob.call("GET", "/place/v1/relay/receive?agent_id=" + ids[1])
    assert status == 200 and got["messages"][0]["encrypted_blob"] == blob and got["messages"][0]["from"] == ids[0], got

    status, posted = ada.call("POST", "/place/v1/board/post", {"agent_id": ids[0], "type": "offer_skill", "skill_name": "Tea"})
    assert status == 201, posted
    status, board = bob.call("GET", "/place/v1/board/browse?type=offer_skill")
    assert status == 200 and board["postings"][0]["id"] == posted["posting_id"], board
    status, audit = bob.call("GET", "/place/v1/audit?type=relay")
    assert status == 200 and [e["action"] for e in audit["entries"]] == ["enqueue", "dequeue"], audit
    for client, agent in zip((ada, bob), ids):
        assert client.call("POST", "/place/v1/heartbeat", {"agent_id": agent})[1]["status"] == "active"
        assert client.call("POST", "/place/v1/unregister", {"agent_id": agent})[1]["status"] == "unregistered"
    print("all well")


main(sys.argv[1])
