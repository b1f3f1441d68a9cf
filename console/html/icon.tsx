/** Icons of the navigation: strokes on a square of 24 units. */

const PATHS = {
  home: 'M4 11l8-7 8 7v9h-5v-6H9v6H4z',
  play: 'M7 4l12 8-12 8z',
  box: 'M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9',
  list: 'M9 6h11M9 12h11M9 18h11M4 6h1M4 12h1M4 18h1',
  key: 'M12 12a4 4 0 1 1-8 0 4 4 0 0 1 8 0zM12 12h8v4M16 12v3',
  stack: 'M12 4l9 5-9 5-9-5zM3 14l9 5 9-5',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  hook: 'M3 12h11M10 7l5 5-5 5M20 4v16',
  bars: 'M4 4v16h16M9 16v-4M13 16V7M17 16v-6',
  card: 'M3 6h18v12H3zM3 10h18M7 15h3',
  people: 'M13 8a4 4 0 1 1-8 0 4 4 0 0 1 8 0zM2 20c0-4 3-6 7-6s7 2 7 6M16 4.5a4 4 0 0 1 0 7M18 14.5c2.5.8 4 2.6 4 5.5',
  gauge: 'M12 15l4-5M4.6 18a9 9 0 1 1 14.8 0M8 18h8',
  face: 'M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0zM9 10h.01M15 10h.01M8.5 14.5a4.5 4.5 0 0 0 7 0',
  pulse: 'M3 12h4l3-7 4 14 3-7h4',
  house: 'M5 21V4h9v17M14 9h5v12M3 21h18M8 8h3M8 12h3M8 16h3',
  speech: 'M4 5h16v11h-9l-5 4v-4H4z',
  alert: 'M12 4l9 16H3zM12 10v5M12 17.5h.01',
  cloud: 'M7 18a4 4 0 0 1-.5-8A6 6 0 0 1 18 9.2a4.4 4.4 0 0 1 0 8.8z',
  tag: 'M4 4h8l8 8-8 8-8-8zM8 8h.01',
  calendar: 'M4 6h16v14H4zM4 10h16M8 3v4M16 3v4',
  back: 'M9 14L4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3',
  check: 'M4 12l5 5L20 6',
  gift: 'M4 11h16v9H4zM3 7h18v4H3zM12 7v13M12 7c-6 0-5-6 0 0 5-6 6 0 0 0',
  pencil: 'M4 20l1-5L16 4l4 4L9 19z',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
