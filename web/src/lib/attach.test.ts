import { describe, expect, it } from 'vitest';
import { compose, decompose, pieces, plainName, readAttachment, size, type Attachment } from './attach';
import text from './testdata/attachments.json?raw';

interface Vector { why: string; words: string; files: Attachment[]; message: string }
const vectors: Vector[] = JSON.parse(text); // the chat on a terminal is held to the same

const file = (name: string, content: BlobPart) => new File([content], name);

describe('files in a message', () => {
  for (const v of vectors) {
    it(`are composed and found again: ${v.why}`, () => {
      expect(compose(v.words, v.files)).toBe(v.message);
      expect(decompose(v.message)).toEqual({ words: v.words, files: v.files });
    });
  }

  it('keep the order of what was said around them', () => {
    const message = `before\n\n${compose('', [{ name: 'a', text: 'x' }])}\n\nafter`;
    expect(pieces(message).map((p) => (p.kind === 'file' ? p.name : p.text))).toEqual(['before', 'a', 'after']);
  });

  it('are words again when cut off, so nothing is hidden', () => {
    const whole = compose('see', [{ name: 'a', text: 'one\ntwo' }]);
    expect(pieces(whole.slice(0, -3)).every((p) => p.kind === 'words')).toBe(true);
  });

  it('have a name that cannot break out of the line', () => {
    expect(plainName('C:\\tmp\\a"b\n.txt')).toBe('a_b_.txt');
    expect(plainName('/etc/\u202egnp.exe')).toBe('_gnp.exe');
    expect(plainName('  ')).toBe('file');
    expect([...plainName('x'.repeat(500))]).toHaveLength(120);
  });
});

describe('reading a file', () => {
  const stored = { digest: 'd', name: 'photo.png', type: 'image/png', size: 3 };
  const put = async () => stored;
  it('puts pictures, PDFs and sound into the hub, and nothing that runs', async () => {
    const picture = new File([new Uint8Array([1, 2, 3])], 'photo.png', { type: 'image/png' });
    expect(await readAttachment(picture, [], put)).toEqual({ name: 'photo.png', text: '', stored });
    expect(compose('look', [{ name: 'photo.png', text: '', stored }])).toBe('look');
    const drawing = new File(['<svg/>'], 'a.svg', { type: 'image/svg+xml' });
    expect(await readAttachment(drawing, [], put)).toEqual({ name: 'a.svg', text: '<svg/>' });
    await expect(readAttachment(picture, [], async () => { throw new Error('there is no room left'); })).rejects.toThrow('photo.png was not attached: there is no room left');
  });
  it('takes text, without its byte order mark', async () => {
    expect(await readAttachment(file('a.txt', '\ufeffhej'), [], put)).toEqual({ name: 'a.txt', text: 'hej' });
  });
  it('refuses what is not text, and says so', async () => {
    await expect(readAttachment(file('a.png', new Uint8Array([0x89, 0x50, 0xff, 0])), [], put)).rejects.toThrow('a.png was not attached: it is not a text file');
    await expect(readAttachment(file('a.bin', 'a\0b'), [], put)).rejects.toThrow('not a text file');
  });
  it('refuses what a message cannot hold, alone or with the others', async () => {
    await expect(readAttachment({ name: 'big.log', size: 9 << 20 } as File, [], put)).rejects.toThrow('big.log was not attached: it has 9.4 MB, and a message holds 8.3 MB.');
    const other = { name: 'b', text: 'x'.repeat(8 << 20) };
    await expect(readAttachment(file('small', 'x'), [other], put)).rejects.toThrow('there is room for 0 bytes more');
    const many = Array.from({ length: 20 }, () => ({ name: 'a', text: '' }));
    await expect(readAttachment(file('one-more', ''), many, put)).rejects.toThrow('20 files are the most');
  });
});

it('sizes are written for people', () => {
  expect([1, 999, 1400, 25_000, 2_000_000].map(size)).toEqual(['1 byte', '999 bytes', '1.4 KB', '25 KB', '2.0 MB']);
});
