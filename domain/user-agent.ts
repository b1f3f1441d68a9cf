/** Sent to servers that others choose: some turn away clients without a User-Agent. */
export const USER_AGENT = 'Genway/1';
