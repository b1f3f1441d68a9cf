/** What Genway calls itself to servers that others chose: some turn away clients that do not say who they are. */
export const USER_AGENT = 'Genway/1';
