/** The request of a client to render, after every check of its form. */
import type { MediaModel } from '../../catalogue/types.ts';
import type { MediaOrder } from '../../domain/pricing.ts';
import type { RenderInputs } from '../../domain/task.ts';

/** A valid create call: its model, the order that sets its price, and the render request with defaults. */
export interface ValidatedMediaRequest<Model extends MediaModel> {
  readonly model: Model;
  readonly order: MediaOrder;
  readonly render: RenderInputs;
  /** The name of the end user; null for none. */
  readonly endUser: string | null;
}
