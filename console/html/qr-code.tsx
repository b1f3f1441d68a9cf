/** A QR code as inline SVG. */
import { encode } from 'uqr';

/** The light margin around the code, in modules: ISO/IEC 18004 requires four. */
const BORDER = 4;

/** @param label the text for screen readers */
export function QrCode({ text, label }: { text: string; label: string }) {
  const { data, size } = encode(text, { border: BORDER });
  // One part for a run of dark modules halves the size of the code.
  const dark = data.flatMap((row, y) => {
    const runs = row
      .map((isDark) => (isDark ? '#' : ' '))
      .join('')
      .matchAll(/#+/g);
    return Array.from(runs, ({ index, 0: { length } }) => `M${index} ${y}h${length}v1h-${length}z`);
  });
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={dark.join('')} fill="#000" />
    </svg>
  );
}
