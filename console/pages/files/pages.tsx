/** The files that an account has uploaded for its tasks. */
import type { ApiServices } from '../../../api/services.ts';
import { findUpload, listUploads, type Upload } from '../../../db/queries/uploads.ts';
import { Card, ConfirmDeletion, Empty, Pages, Time } from '../../html/components.tsx';
import { readListPage } from '../../list-page.ts';
import { formsOver, requireFound, member, type MemberVisit, type PageResult, showPage } from '../../page.ts';

const PAGE_SIZE = 24;

const page = member.page('/accounts/{account_id}/files', 'develop', showFiles);

export const filePages = [
  page,
  member.page('/accounts/{account_id}/files/{file_id}/delete', 'develop', async (visit, services) => {
    const { texts, account } = visit;
    const upload = await uploadOf(visit, services);
    const list = `/console/accounts/${account.accountId}/files`;
    return showPage(
      texts.files.deleteTitle(upload.filename ?? upload.id),
      <Card>
        <p>{texts.files.delete}</p>
        <ConfirmDeletion path={`${list}/${upload.id}`} backTo={list} />
      </Card>,
    );
  }),
  formsOver(page, 'develop', uploadOf)(
    '/{file_id}/delete',
    ({ account }, { tasks: { uploads } }, { id }) => uploads.remove(account.accountId, [id]),
    'deleted',
  ),
];

async function uploadOf({ account, params }: MemberVisit, { database }: ApiServices): Promise<Upload> {
  const upload = await findUpload(database, account.accountId, params['file_id'] ?? '');
  return requireFound(upload?.purpose === 'user_data' ? upload : null);
}

async function showFiles(visit: MemberVisit, services: ApiServices): Promise<PageResult> {
  const { account, query, texts } = visit;
  const { entries: uploads, next } = await readListPage(
    query,
    'file',
    (slice) => listUploads(services.database, { accountId: account.accountId, purpose: 'user_data', ...slice }),
    PAGE_SIZE,
  );
  return showPage(
    texts.titles.files,
    uploads.length === 0 ? (
      <Card>
        <Empty>{texts.files.none}</Empty>
      </Card>
    ) : (
      <ul class="gallery">
        {uploads.map((upload) => (
          <Tile upload={upload} visit={visit} services={services} />
        ))}
      </ul>
    ),
    <Pages next={next} />,
  );
}

interface TileProps {
  readonly upload: Upload;
  readonly visit: MemberVisit;
  readonly services: ApiServices;
}

function Tile({
  upload,
  visit,
  services: {
    storage,
    tasks: { uploadExpiryMs },
  },
}: TileProps) {
  const { files: messages, common, language } = visit.texts;
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
              {messages.expires} <Time at={new Date(createdAt.getTime() + uploadExpiryMs)} />
            </>
          ) : (
            messages.used
          )}
        </span>
        <div class="row">
          <button type="button" class="quiet" data-copy={url} data-copied={common.copied}>
            {messages.copyLink}
          </button>
          <a href={`${visit.path}/${id}/delete`} aria-label={messages.deleteLabel(name)}>
            {common.delete}
          </a>
        </div>
      </div>
    </li>
  );
}

function Preview({ url, mimeType, name }: { url: string; mimeType: string; name: string }) {
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

/** Formats a size, such as `3.4 MB`. */
function sizeOf(bytes: number, language: string): string {
  const [unitBytes, unit] = UNITS.find(([min]) => bytes >= min) ?? [1, 'byte'];
  return new Intl.NumberFormat(language, { style: 'unit', unit, maximumFractionDigits: 1 }).format(bytes / unitBytes);
}
