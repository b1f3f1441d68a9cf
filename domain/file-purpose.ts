/** What a file is for, in OpenAI's terms: the input of a batch, the output of a batch, or the input of media tasks. */
export const FILE_PURPOSES = ['user_data', 'batch', 'batch_output'] as const;

export type FilePurpose = (typeof FILE_PURPOSES)[number];

/** The purpose of the files that clients upload with that text as their purpose, or that batches write. */
export function filePurposeOf(text: string): FilePurpose {
  return FILE_PURPOSES.find((purpose) => purpose === text) ?? 'user_data';
}
