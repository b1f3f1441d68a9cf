import {
  CreateBucketCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3';
import { expect } from 'chai';
import { createS3Storage, findRegion } from '../../storage/s3.ts';
import type { Storage } from '../../storage/storage.ts';
import { s3ServerObstacle, startS3Server } from '../../lab/stack/s3-server.ts';
import type { S3Server } from '../../lab/stack/s3-server.ts';
import { useEnvironment } from '../support/environment.ts';
import { chunksOf, holdsTheStorageContract } from './contract.ts';
import type { StorageUnderTest } from './contract.ts';

const BUCKET = 'genway-test';
const ACCESS = {
  region: 'us-east-1',
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  forcePathStyle: true,
};
const INSTALLATION_MS = 300_000;

describe('storage/s3', () => {
  let server: S3Server | null = null;
  let client: S3Client;
  let storage: Storage;

  before(async function () {
    this.timeout(INSTALLATION_MS);
    const obstacle = await s3ServerObstacle();
    if (obstacle !== null) {
      process.stderr.write(`    skipped: the S3 server of this test ${obstacle}\n`);
      this.skip();
    }
    server = await startS3Server();
    client = new S3Client({ ...ACCESS, endpoint: server.endpoint });
    await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
    storage = createS3Storage({
      ...ACCESS,
      endpoint: server.endpoint,
      bucket: BUCKET,
      publicUrl: 'https://cdn.example.com',
    });
  });

  after(() => server?.close());

  holdsTheStorageContract((): StorageUnderTest => ({
    storage,
    read: async (key) => {
      const found = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key: key })).catch(() => null);
      return found?.Body === undefined ? null : Buffer.from(await found.Body.transformToByteArray());
    },
    traces: async () => {
      const [objects, uploads] = await Promise.all([
        client.send(new ListObjectsV2Command({ Bucket: BUCKET })),
        client.send(new ListMultipartUploadsCommand({ Bucket: BUCKET })),
      ]);
      return [...(objects.Contents ?? []), ...(uploads.Uploads ?? [])].map(({ Key }) => Key ?? '');
    },
  }));

  it('keeps the content type, and lets shared caches keep the object only if they revalidate it', async () => {
    // contract 2.2:17
    await storage.put('typed.webp', chunksOf(Buffer.from('x')), { contentType: 'image/webp', maxBytes: 10 });
    const found = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'typed.webp' }));
    expect(found.ContentType).to.equal('image/webp');
    expect(found.CacheControl).to.equal('public, max-age=3600, s-maxage=0');
    await storage.delete('typed.webp');
  });

  it('passes on the refusal of the store', async () => {
    const { endpoint } = server ?? { endpoint: '' };
    const nowhere = createS3Storage({
      ...ACCESS,
      endpoint,
      bucket: 'no-such-bucket',
      publicUrl: 'https://cdn.example.com',
    });
    const put = nowhere.put('a.png', chunksOf(Buffer.from('x')), { contentType: 'image/png', maxBytes: 10 });
    expect(await put.catch((error: unknown) => error)).to.have.property('name', 'NoSuchBucket');
  });
});

describe('the region of the bucket', () => {
  describe('with AWS_REGION', () => {
    useEnvironment({ AWS_REGION: 'auto' });

    it('is that of the variable', async () => expect(await findRegion()).to.equal('auto'));
  });

  describe('without AWS_REGION and the files of AWS', () => {
    const nothing = '/dev/null';
    useEnvironment({ AWS_REGION: undefined, AWS_CONFIG_FILE: nothing, AWS_SHARED_CREDENTIALS_FILE: nothing });

    it('leads to an error that names AWS_REGION', async () => {
      expect(await findRegion().catch((error: unknown) => error))
        .to.have.property('message')
        .that.matches(/^Set AWS_REGION/);
    });
  });
});
