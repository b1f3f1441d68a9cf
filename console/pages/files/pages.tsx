/** The files that an account has uploaded, for its tasks to use. */
import type { ApiServices } from '../../../api/services/services.ts';
import { findUpload, listUploads, type Upload } from '../../../db/queries/uploads.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { Card, ConfirmDeletion, Empty, Pages, Time } from '../../html/components.tsx';
import { readListPage } from '../../list-page.ts';
import { member, type MemberVisit, showPage } from '../../page.ts';

const FILE_LIST = { kind: 'file', size: 24 } as const;

export const filePages = [
  member.page('/accounts/{account_id}/files', 'develop', async (visit, services) => {
    const { account, query, texts } = visit;
    const { entries: uploads, next } = await readListPage(query, FILE_LIST, (slice) =>
      listUploads(services.database, { accountId: account.accountId, ...slice }),
    );
    return showPage(
      'files',
      texts.titles.files,
      <>
        {uploads.length === 0 ? (
          <Card>
            <Empty>{texts.files.none}</Empty>
          </Card>
        ) : (
          <ul class="gallery">
            {uploads.map((upload) => (
              <Tile upload={upload} visit={visit} services={services} />
            ))}
          </ul>
        )}
        <Pages next={next} />
      </>,
    );
  }),
  member.page('/accounts/{account_id}/files/{file_id}/delete', 'develop', async (visit, services) => {
    const { texts, account, params } = visit;
    const upload = await findUpload(services.database, account.accountId, params['file_id'] ?? '');
    if (!upload) throw noSuchFile();
    const list = `/console${pathOf(visit)}`;
    return showPage(
      'files',
      texts.files.deleteTitle(upload.filename ?? upload.id),
      <Card>
        <p>{texts.files.delete}</p>
        <ConfirmDeletion path={`${list}/${upload.id}`} backTo={list} />
      </Card>,
    );
  }),
  member.form('/accounts/{account_id}/files/{file_id}/delete', 'develop', async (visit, { uploads }) => {
    const { account, params } = visit;
    if (!(await uploads.remove(account.accountId, params['file_id'] ?? ''))) throw noSuchFile();
    return { kind: 'redirect', path: pathOf(visit) };
  }),
];

function pathOf({ account: { accountId } }: MemberVisit): string {
  return `/accounts/${accountId}/files`;
}

function noSuchFile(): ServiceError {
  return new ServiceError('not_found', 'There is no such file.');
}

function Tile({
  upload,
  visit,
  services: { storage, uploadExpiryMs },
}: {
  readonly upload: Upload;
  readonly visit: MemberVisit;
  readonly services: ApiServices;
}) {
  const { files: words, common, language } = visit.texts;
  const { id, filename, bytes, mimeType, createdAt, usedAt, storageKey } = upload;
  const url = storage.urlOf(storageKey);
  const name = filename || id;
  return (
    <li>
      <div class="frame">
        <Preview url={url} mimeType={mimeType} name={name} />
      </div>
      <div class="about">
        <p class="prompt">
          <a href={url}>{name}</a>
        </p>
        <span class="soft">
          {sizeOf(bytes, language)} · {mimeType}
        </span>
        <span class="soft">
          <Time at={createdAt} />
        </span>
        <span class="soft">
          {usedAt === null ? (
            <>
              {words.expires} <Time at={new Date(createdAt.getTime() + uploadExpiryMs)} />
            </>
          ) : (
            words.used
          )}
        </span>
        <div class="row">
          <button type="button" class="quiet" data-copy={url} data-copied={common.copied}>
            {words.copyLink}
          </button>
          <a href={`/console${pathOf(visit)}/${id}/delete`} aria-label={words.deleteLabel(name)}>
            {common.delete}
          </a>
        </div>
      </div>
    </li>
  );
}

function Preview({ url, mimeType, name }: { readonly url: string; readonly mimeType: string; readonly name: string }) {
  if (mimeType.startsWith('image/')) return <img src={url} alt={name} loading="lazy" />;
  if (mimeType.startsWith('video/')) {
    return <video src={url} muted playsinline preload="metadata" aria-label={name}></video>;
  }
  if (mimeType.startsWith('audio/')) return <audio src={url} controls preload="none" aria-label={name}></audio>;
  return <span>{mimeType}</span>;
}

const UNITS = [
  [2 ** 20, 'megabyte'],
  [2 ** 10, 'kilobyte'],
] as const;

/** Such as `3.4 MB`. */
function sizeOf(bytes: number, language: string): string {
  const [unitBytes, unit] = UNITS.find(([least]) => bytes >= least) ?? [1, 'byte'];
  return new Intl.NumberFormat(language, { style: 'unit', unit, maximumFractionDigits: 1 }).format(bytes / unitBytes);
}
