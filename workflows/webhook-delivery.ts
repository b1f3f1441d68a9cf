/** One event to one endpoint, attempt by attempt, until it arrives or the schedule ends. */
export interface WebhookDeliveryInput {
  readonly deliveryId: string;
}

export async function webhookDelivery({ deliveryId }: WebhookDeliveryInput): Promise<void> {
  throw new Error(`delivery ${deliveryId} cannot be made yet`);
}
