// A real PNG, made by hand: a desktop with a bar and a window.

import { deflateSync } from 'node:zlib';

/** A picture of a size, as base64. */
export function desktop(width, height) {
  const rows = Buffer.alloc(height * (1 + width * 3));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const inside = x > width * 0.2 && x < width * 0.7 && y > height * 0.2 && y < height * 0.7;
      const bar = y > height * 0.93;
      const colour = bar ? [30, 34, 46] : inside ? (y < height * 0.26 ? [70, 90, 160] : [244, 244, 248]) : [40, 90 + Math.round((60 * y) / height), 120];
      rows.set(colour, y * (1 + width * 3) + 1 + x * 3);
    }
  }
  const size = Buffer.alloc(13);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  size.set([8, 2], 8);
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), chunk('IHDR', size), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))]).toString('base64');
}

function chunk(name, body) {
  const out = Buffer.alloc(12 + body.length);
  out.writeUInt32BE(body.length, 0);
  out.write(name, 4, 'latin1');
  body.copy(out, 8);
  out.writeUInt32BE(checksum(out.subarray(4, 8 + body.length)), 8 + body.length);
  return out;
}

function checksum(data) {
  let c = ~0;
  for (const byte of data) {
    c ^= byte;
    for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  }
  return ~c >>> 0;
}
