"""Makes vectors.json, and checks what the Go code made (vectors_go.json).

An implementation of the seals that shares nothing with the Go one: RSA, AES-GCM,
X25519 and ML-KEM come from the `cryptography` package of PyPI (version 50), and
HPKE (RFC 9180 base mode) and the hybrid combiner are written out below.

    python vectors.py make  > vectors.json     once; the file is committed
    python vectors.py check < vectors_go.json  what `go test -run Vectors -mmp.vectors FILE` wrote
"""
import base64, hashlib, hmac, json, os, sys

from cryptography.hazmat.primitives import hashes, serialization as ser
from cryptography.hazmat.primitives.asymmetric import ed25519, mlkem, padding, rsa, x25519
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

b64 = lambda b: base64.b64encode(b).decode()
unb64 = lambda s: base64.b64decode(s, validate=True)
sha = lambda b: hashlib.sha256(b).digest()
compact = lambda v: json.dumps(v, separators=(",", ":"), ensure_ascii=False).encode()
ordered = lambda v: json.dumps(v, separators=(",", ":"), ensure_ascii=False, sort_keys=True).encode()
OAEP1 = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)
OAEP256 = padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), b"MMP-ENVELOPE-2")
sign = lambda key, text: b64(key.sign(text, padding.PKCS1v15(), hashes.SHA256()))


def spki(key):
    return key.public_key().public_bytes(ser.Encoding.DER, ser.PublicFormat.SubjectPublicKeyInfo)


def key_id(key):
    return "sha256:" + sha(spki(key)).hex()


def pairs(data):
    return ":".join("%02x" % b for b in sha(data)[:16])


# --- envelope 1
def seal1(pub, plain):
    key, iv = os.urandom(32), os.urandom(12)
    out = AESGCM(key).encrypt(iv, plain, None)
    return b64(compact({
        "version": 1, "algorithm": "RSA-2048+AES-256-GCM", "encrypted_key": b64(pub.encrypt(key, OAEP1)),
        "iv": b64(iv), "auth_tag": b64(out[-16:]), "ciphertext": b64(out[:-16])}))


def open1(priv, blob):
    e = json.loads(unb64(blob))
    assert list(e) == ["version", "algorithm", "encrypted_key", "iv", "auth_tag", "ciphertext"], list(e)
    assert e["version"] == 1 and e["algorithm"] == "RSA-2048+AES-256-GCM"
    key = priv.decrypt(unb64(e["encrypted_key"]), OAEP1)
    assert len(key) == 32
    return AESGCM(key).decrypt(unb64(e["iv"]), unb64(e["ciphertext"]) + unb64(e["auth_tag"]), None)


# --- RFC 9180, base mode, HKDF-SHA-256, AES-256-GCM
def extract(salt, ikm):
    return hmac.new(salt or bytes(32), ikm, hashlib.sha256).digest()


def expand(prk, info, n):
    out, block = b"", b""
    while len(out) < n:
        block = hmac.new(prk, block + info + bytes([len(out) // 32 + 1]), hashlib.sha256).digest()
        out += block
    return out[:n]


def labeled_extract(suite, salt, label, ikm):
    return extract(salt, b"HPKE-v1" + suite + label + ikm)


def labeled_expand(suite, prk, label, info, n):
    return expand(prk, n.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info, n)


def context(kem, secret, info):
    suite = b"HPKE" + kem.to_bytes(2, "big") + b"\0\1" + b"\0\2"
    ctx = b"\0" + labeled_extract(suite, b"", b"psk_id_hash", b"") + labeled_extract(suite, b"", b"info_hash", info)
    prk = labeled_extract(suite, secret, b"secret", b"")
    return AESGCM(labeled_expand(suite, prk, b"key", ctx, 32)), labeled_expand(suite, prk, b"base_nonce", ctx, 12)


def raw(pub):
    return pub.public_bytes_raw()


def dhkem(dh, enc, pub):
    suite = b"KEM\0\x20"
    return labeled_expand(suite, labeled_extract(suite, b"", b"eae_prk", dh), b"shared_secret", enc + pub, 32)


def hybrid_keys(seed):
    full = hashlib.shake_256(seed).digest(96)
    return mlkem.MLKEM768PrivateKey.from_seed_bytes(full[:64]), x25519.X25519PrivateKey.from_private_bytes(full[64:])


def combine(ss_m, ss_x, ct_x, pk_x):
    return hashlib.sha3_256(ss_m + ss_x + ct_x + pk_x + b"\\.//^\\").digest()


INFO = b"MMP-ENVELOPE-2"
KEMS = {"MMP2-HPKE-X25519": 0x20, "MMP2-HPKE-MLKEM768X25519": 0x647A}


def encap(suite, keys):
    eph = x25519.X25519PrivateKey.generate()
    if suite == "MMP2-HPKE-X25519":
        pub = keys["x25519"].public_key()
        enc = raw(eph.public_key())
        return enc, dhkem(eph.exchange(pub), enc, raw(pub))
    m, x = hybrid_keys(keys["seed"])
    ss_m, ct_m = m.public_key().encapsulate()
    ct_x = raw(eph.public_key())
    return ct_m + ct_x, combine(ss_m, eph.exchange(x.public_key()), ct_x, raw(x.public_key()))


def decap(suite, keys, enc):
    if suite == "MMP2-HPKE-X25519":
        priv = keys["x25519"]
        return dhkem(priv.exchange(x25519.X25519PublicKey.from_public_bytes(enc)), enc, raw(priv.public_key()))
    m, x = hybrid_keys(keys["seed"])
    ct_m, ct_x = enc[:1088], enc[1088:]
    ss_x = x.exchange(x25519.X25519PublicKey.from_public_bytes(ct_x))
    return combine(m.decapsulate(ct_m), ss_x, ct_x, raw(x.public_key()))


# --- envelope 2
def signed2(protected, enc, iv, tag, ct):
    return b"MMP-ENVELOPE-2\n" + sha(protected) + sha(enc) + iv + tag + sha(ct)


def seal2(suite, sender, to, keys, head, plain):
    protected = ordered(head)
    e = {"version": 2, "algorithm": suite, "protected": b64(protected)}
    if suite in KEMS:
        enc, secret = encap(suite, keys)
        aead, nonce = context(KEMS[suite], secret, INFO)
        ct, iv, tag = aead.encrypt(nonce, plain, protected), b"", b""
        e["enc"] = b64(enc)
    else:
        key, iv = os.urandom(32), os.urandom(12)
        enc = to.public_key().encrypt(key, OAEP256)
        out = AESGCM(key).encrypt(iv, plain, protected)
        ct, tag = out[:-16], out[-16:]
        e |= {"encrypted_key": b64(enc), "iv": b64(iv), "auth_tag": b64(tag)}
    e["ciphertext"] = b64(ct)
    e["signature"] = sign(sender, signed2(protected, enc, iv, tag, ct))
    return b64(compact(e))


def open2(blob, sender_pub, to, keys):
    e = json.loads(unb64(blob))
    g = lambda k: unb64(e.get(k, ""))
    protected, enc = g("protected"), g("enc") or g("encrypted_key")
    assert protected == ordered(json.loads(protected))
    sender_pub.verify(g("signature"), signed2(protected, enc, g("iv"), g("auth_tag"), g("ciphertext")),
                      padding.PKCS1v15(), hashes.SHA256())
    if e["algorithm"] in KEMS:
        assert "iv" not in e and "auth_tag" not in e and "encrypted_key" not in e
        aead, nonce = context(KEMS[e["algorithm"]], decap(e["algorithm"], keys, enc), INFO)
        return aead.decrypt(nonce, g("ciphertext"), protected)
    return AESGCM(to.decrypt(enc, OAEP256)).decrypt(g("iv"), g("ciphertext") + g("auth_tag"), protected)


PLAINS = [
    "hello", "Grüße, 世界 🌍 – “quoted” \\ and \"so\"", "1",
    '{"action":"introduce","payload":{"text":"<b>&amp;</b>"}}', "x" * 5000, "line one\nline two\n\ttab",
]
PLACE = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PLACE_KEY = "ed25519:" + base64.urlsafe_b64encode(PLACE.public_key().public_bytes_raw()).decode().rstrip("=")
IDENTITY = {"name": "Ada & <Söhne>", "instance_id": "ada", "scope": "general",
            "nested": {"z": [1, 2.50, {"b": None, "a": True}], "é": "é", "a": "/"}}
HEAD = {"from": "ada", "id": "msg_0011223344556677", "to": "bob", "ts": "2026-01-30T12:00:00Z", "type": "note"}


def make():
    ada, bob = (rsa.generate_private_key(65537, 2048) for _ in range(2))
    keys = {"x25519": x25519.X25519PrivateKey.generate(), "seed": os.urandom(32)}
    head = HEAD | {"from_key": key_id(ada), "to_key": key_id(bob)}
    pem = bob.public_key().public_bytes(ser.Encoding.PEM, ser.PublicFormat.SubjectPublicKeyInfo)
    pkcs1 = bob.public_key().public_bytes(ser.Encoding.PEM, ser.PublicFormat.PKCS1)
    private = lambda k, f, e=ser.NoEncryption(): k.private_bytes(ser.Encoding.PEM, f, e).decode()
    trad, p8 = ser.PrivateFormat.TraditionalOpenSSL, ser.PrivateFormat.PKCS8
    m, x = hybrid_keys(keys["seed"])
    entry = b64(ordered({
        "agent_id": "bob", "envelopes": [1, 2], "issued_at": "2026-01-30T11:00:00Z", "rsa": key_id(bob),
        "hpke": [{"kem": "MLKEM768X25519", "key": b64(raw(m.public_key()) + raw(x.public_key()))},
                 {"kem": "X25519", "key": b64(raw(keys["x25519"].public_key()))}]}))
    json.dump({
        "how": "made once by vectors.py with the cryptography package of PyPI; see there",
        "ada": private(ada, trad), "bob": private(bob, trad), "bob_pkcs8": private(bob, p8),
        "bob_encrypted": private(bob, trad, ser.BestAvailableEncryption(b"correct horse")), "passphrase": "correct horse",
        "bob_spki": pem.decode(), "bob_pkcs1_public": pkcs1.decode(), "bob_fingerprint": pairs(pem),
        "bob_pkcs1_fingerprint": pairs(pkcs1), "bob_key_fingerprint": pairs(spki(bob)), "bob_key_id": key_id(bob),
        "x25519": b64(keys["x25519"].private_bytes_raw()), "hybrid_seed": b64(keys["seed"]),
        "entry": entry, "entry_signature": sign(bob, b"MMP-KEY-ENTRY-2\n" + entry.encode()),
        "identity_pretty": json.dumps(IDENTITY, indent=2, ensure_ascii=False),
        "identity_as_sent": sign(ada, compact(IDENTITY)), "identity_sorted": sign(ada, ordered(IDENTITY)),
        "challenge": sign(ada, (f"MMP-PROOF-2\n{PLACE_KEY}\nplace.example.org\nada\nnonce-1\n" + key_id(ada)).encode()),
        "place_key": PLACE_KEY, "place_signature": b64(PLACE.sign(
            f"MMP-PLACE-1\n{PLACE_KEY}\nplace.example.org\nada\nnonce-1\n2026-01-30T12:00:00Z".encode())),
        "rotation": sign(ada, ("MMP-ROTATE-1\nada\n" + key_id(bob)).encode()),
        "envelope1": [{"plain": p, "blob": seal1(bob.public_key(), p.encode())} for p in PLAINS],
        "envelope2": [{"suite": s, "plain": p, "blob": seal2(s, ada, bob, keys, head, p.encode())}
                      for s in [*KEMS, "MMP2-OAEP256-AES256GCM"] for p in PLAINS[:2]],
    }, sys.stdout, indent=1, ensure_ascii=False)


def check():
    v = json.load(sys.stdin)
    load = lambda s, p=None: ser.load_pem_private_key(s.encode(), p)
    ada, bob = load(v["ada"]), load(v["bob"])
    keys = {"x25519": x25519.X25519PrivateKey.from_private_bytes(unb64(v["x25519"])), "seed": unb64(v["hybrid_seed"])}
    for c in v["envelope1"]:
        assert open1(bob, c["blob"]) == c["plain"].encode()
    for c in v["envelope2"]:
        assert open2(c["blob"], ada.public_key(), bob, keys) == c["plain"].encode(), c["suite"]
    assert spki(load(v["bob_encrypted"], v["passphrase"].encode())) == spki(bob)
    ada.public_key().verify(unb64(v["identity_signature"]), ordered(json.loads(v["identity"])), padding.PKCS1v15(), hashes.SHA256())
    assert v["identity"].encode() == ordered(json.loads(v["identity"]))
    bob.public_key().verify(unb64(v["entry_signature"]), b"MMP-KEY-ENTRY-2\n" + v["entry"].encode(), padding.PKCS1v15(), hashes.SHA256())
    print("ok:", len(v["envelope1"]), "envelope 1,", len(v["envelope2"]), "envelope 2, encrypted PEM, identity, entry")


{"make": make, "check": check}[sys.argv[1]]()
