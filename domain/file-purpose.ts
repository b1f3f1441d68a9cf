/** What a file is for, in OpenAI's terms: the input of a batch, the output of a batch, or the input of media tasks. */
export const FILE_PURPOSES = ['user_data', 'batch', 'batch_output'] as const;

export type FilePurpose = (typeof FILE_PURPOSES)[number];
