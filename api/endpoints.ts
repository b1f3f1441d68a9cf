/** Every endpoint there is, in the order in which the API description lists them. */
import type { ApiServices } from './services/services.ts';
import type { Endpoint } from './endpoint/endpoint.ts';
import { createKey, deleteKey, updateKey } from './routes/admin/keys.ts';
import { getMetrics } from './routes/metrics/endpoints.ts';

const ADMINISTRATION = [createKey, updateKey, deleteKey];

export const ENDPOINTS: readonly Endpoint<ApiServices>[] = [...ADMINISTRATION, getMetrics];
