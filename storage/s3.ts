import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  NoSuchKey,
  NotFound,
  S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { Readable } from 'node:stream';
import { OperatorError } from '../domain/operator-error.ts';
import { STORE_SILENCE_MS } from '../domain/step-limits.ts';
import { boundBody } from './bounded-body.ts';
import { CACHE_CONTROL, assertStorageKey, keyOfLink, publicLink } from './keys.ts';
import type { Storage } from './storage.ts';

interface S3StorageOptions {
  /** The store's address if it is not AWS, such as `https://<account>.r2.cloudflarestorage.com`. */
  readonly endpoint?: string;
  readonly region: string;
  readonly bucket: string;
  /** By default, the AWS SDK finds credentials in its usual places, such as a role of the machine. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Puts the bucket into the path instead of the host name, as most stores other than AWS require. */
  readonly forcePathStyle?: boolean;
  /** The public address of the bucket, often the address of a CDN. */
  readonly publicUrl: string;
}

/** An upload holds two parts of this size in memory (16 MiB), and a third part that is being filled. */
const PART_BYTES = 8 * 1024 * 1024;
const PARTS_IN_FLIGHT = 2;
const CONNECT_TIMEOUT_MS = 5000;

/**
 * Stores objects in an S3-compatible store: objects of up to one part in one request, larger ones as a multipart
 * upload, which is aborted if the body fails. A process that dies during an upload cannot abort it, so give the bucket
 * a lifecycle rule that removes incomplete multipart uploads after a day.
 */
export function createS3Storage(options: S3StorageOptions): Storage {
  const { bucket, publicUrl } = options;
  const client = createClient(options);
  return {
    async put(key, body, { contentType, ...limits }) {
      assertStorageKey(key);
      const bounded = boundBody(body, limits);
      const upload = new Upload({
        client,
        partSize: PART_BYTES,
        queueSize: PARTS_IN_FLIGHT,
        params: {
          Bucket: bucket,
          Key: key,
          Body: Readable.from(bounded, { highWaterMark: 1 }),
          ContentType: contentType,
          CacheControl: CACHE_CONTROL,
        },
      });
      await upload.done();
      return { url: publicLink(publicUrl, key), bytes: bounded.bytes };
    },
    async delete(key) {
      assertStorageKey(key);
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
    },
    async read(key, { fromByte } = { fromByte: 0 }) {
      assertStorageKey(key);
      const range = fromByte === 0 ? {} : { Range: `bytes=${fromByte}-` };
      try {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key, ...range }));
        return Body instanceof Readable ? Body : null;
      } catch (error) {
        if (error instanceof NoSuchKey) return null;
        // The range starts at the end of the object.
        if (error instanceof Error && error.name === 'InvalidRange') return Readable.from([]);
        throw error;
      }
    },
    async sizeOf(key) {
      assertStorageKey(key);
      try {
        const { ContentLength } = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }));
        return ContentLength ?? 0;
      } catch (error) {
        if (error instanceof NotFound) return null;
        throw error;
      }
    },
    urlOf: (key) => publicLink(publicUrl, key),
    keyOf: (url) => keyOfLink(publicUrl, url),
  };
}

/** The region of the bucket, from AWS_REGION or the AWS configuration files. @throws OperatorError if neither names one */
export async function findRegion(): Promise<string> {
  return new S3Client({}).config.region().catch((error: unknown) => {
    const advice = 'Set AWS_REGION to the region of the bucket, such as us-east-1, or auto for Cloudflare R2.';
    throw new OperatorError(advice, { cause: error });
  });
}

function createClient({ endpoint, region, credentials, forcePathStyle = false }: S3StorageOptions): S3Client {
  return new S3Client({
    region,
    forcePathStyle,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(credentials === undefined ? {} : { credentials: { ...credentials } }),
    // Not every compatible store supports the newer checksums that the SDK sends by default.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECT_TIMEOUT_MS, socketTimeout: STORE_SILENCE_MS },
  });
}
