import { Connection, type ConnectionOptions } from '@temporalio/client';

/** Connects to a Temporal server for `work`. @throws Error if the server does not answer */
export async function withTemporal<Result>(
  address: string,
  work: (connection: Connection) => Promise<Result>,
  options: Pick<ConnectionOptions, 'connectTimeout'> = {},
): Promise<Result> {
  const connection = await Connection.connect({ address, ...options });
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}
