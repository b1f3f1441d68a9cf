/** The sentences that customers read when their task fails, or when it cannot be cancelled. */
export const TASK_MESSAGES = {
  failed: 'Processing failed on the service side. Nothing was charged; send the request again.',
  notStarted: 'Processing could not start in time. Nothing was charged; send the request again.',
  timedOut: 'Processing did not finish in time. Nothing was charged; send the request again.',
  notStored: 'The result was generated but could not be stored. Nothing was charged; send the request again.',
  cancelledByOperator: 'The task was cancelled by an operator. Nothing was charged.',
  cancelledByCustomer: 'The task was cancelled at your request. Nothing was charged.',
  ended: 'The task has ended.',
  recovering: 'The task is being recovered. Try again in a minute.',
  submitting: 'The task is being handed to the model right now. Try again in a few seconds.',
  rendering: 'The task is being rendered, and the model did not stop. It will be charged when it succeeds.',
  rendered: 'The task has been rendered, and will be charged.',
  unstoppable: 'The task is being rendered, and this model cannot be stopped. It will be charged when it succeeds.',
  unconfirmed: 'The task is being rendered, and the model did not confirm that it stopped. Try again.',
} as const;
