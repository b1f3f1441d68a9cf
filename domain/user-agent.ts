/** Sent to servers that customers choose: some refuse clients without a User-Agent. */
export const USER_AGENT = 'Genway/1';
