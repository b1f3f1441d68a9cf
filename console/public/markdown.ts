import markdownIt from 'markdown-it';

/** Escapes HTML, and leaves out links to scripts and data. */
export const markdown = markdownIt({ html: false });
