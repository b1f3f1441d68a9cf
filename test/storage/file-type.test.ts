import { expect } from 'chai';
import * as fc from 'fast-check';
import { FILE_TYPES, FILE_TYPE_BYTES, contentTypeOfKey, detectFileType } from '../../storage/file-type.ts';

/** First bytes as text of one byte a character, filled up with zeros. */
function head(text: string): Buffer {
  return Buffer.concat([Buffer.from(text, 'latin1'), Buffer.alloc(FILE_TYPE_BYTES)]).subarray(0, FILE_TYPE_BYTES);
}

const KNOWN = [
  ['png', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR'],
  ['jpg', '\xff\xd8\xff\xe0\0\x10JFIF'],
  ['jpg', '\xff\xd8\xff\xe1\x12\x34Exif'],
  ['webp', 'RIFF\x24\0\0\0WEBPVP8 '],
  ['webp', 'RIFF\x24\0\0\0WEBPVP8X'],
  ['mp3', 'ID3\x03\0\0\0\0\x0f\x76'],
  ['mp3', '\xff\xfb\x90\x64'],
  ['mp3', '\xff\xf3\x40\xc0'],
  ['wav', 'RIFF\x24\0\0\0WAVEfmt '],
  ['aac', '\xff\xf1\x50\x80'],
  ['aac', '\xff\xf9\x4c\x80'],
  ['m4a', '\0\0\0\x1cftypM4A \0\0\0\0'],
  ['mp4', '\0\0\0\x18ftypmp42\0\0\0\0'],
  ['mp4', '\0\0\0\x20ftypisom\0\0\x02\0'],
  ['mp4', '\0\0\0\x1cftypiso6\0\0\x02\0'],
  ['mp4', '\0\0\0\x20ftypM4V \0\0\0\x01'],
  ['mp4', '\0\0\0\x18ftypdash\0\0\0\0'],
  ['mov', '\0\0\0\x14ftypqt  \0\0\x02\0'],
  ['mov', '\0\0\0\x08wide\x01\x02\x03\x04mdat'],
  ['mov', '\x03\0\0\0mdat'],
] as const;

const UNKNOWN = {
  'an empty file': '',
  'a cut PNG': '\x89PNG\r\n\x1a\n',
  'a GIF': 'GIF89a\x01\0\x01\0',
  'a BMP': 'BM\x36\0\0\0',
  'a TIFF': 'II*\0\x08\0\0\0',
  'an AVIF': '\0\0\0\x20ftypavif\0\0\0\0',
  'a HEIC': '\0\0\0\x18ftypheic\0\0\0\0',
  'an AVI': 'RIFF\x24\0\0\0AVI LIST',
  'a WebM': '\x1a\x45\xdf\xa3\x9fB\x86\x81',
  'an Ogg': 'OggS\0\x02\0\0',
  'a FLAC': 'fLaC\0\0\0\x22',
  'a PDF': '%PDF-1.7',
  'a ZIP': 'PK\x03\x04\x14\0\0\0',
  'an HTML page': '<!doctype html><html>',
  'an SVG': '<svg xmlns="http://www.w3.org/2000/svg">',
  'a JSON error': '{"error":{"code":"not_found"}}',
  'prose with an atom in it': 'The free encyclopedia',
  'prose that begins like a tag': 'ID3 is a tag format',
  'an MPEG frame of layer I': '\xff\xff\x90\x64',
  'an MPEG frame of a version that does not exist': '\xff\xeb\x90\x64',
  'an MPEG frame of a bit rate that does not exist': '\xff\xfb\xf0\x64',
  'an ADTS frame of a sample rate that does not exist': '\xff\xf1\x3c\x80',
  'UTF-16 text': '\xff\xfeH\0i\0',
} as const;

describe('storage/file-type', () => {
  for (const [extension, text] of KNOWN) {
    it(`recognises ${extension} by ${JSON.stringify(text.slice(0, 12))}`, () => {
      expect(detectFileType(head(text))?.extension).to.equal(extension);
    });
  }

  for (const [what, text] of Object.entries(UNKNOWN)) {
    it(`recognises no type in ${what}`, () => {
      expect(detectFileType(Buffer.from(text, 'latin1'))).to.equal(null);
    });
  }

  it('handles any bytes without failing', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => detectFileType(bytes) !== undefined));
  });

  it('does not treat printable text as a file', () => {
    fc.assert(fc.property(fc.string({ maxLength: 40 }), (text) => detectFileType(Buffer.from(text)) === null));
  });

  it('gives a key the content type of its extension', () => {
    for (const { extension, mimeType } of FILE_TYPES) {
      expect(contentTypeOfKey(`results/task/0.${extension}`)).to.equal(mimeType);
    }
    expect(contentTypeOfKey('a.JPEG')).to.equal('image/jpeg');
    expect(['a', 'a.html', 'a.png.svg', 'png', 'a.'].map(contentTypeOfKey)).to.eql(
      Array(5).fill('application/octet-stream'),
    );
  });
});
