/** Pictures dropped or chosen in the playground. Genway stores the pictures as uploads, and sends links to them. */
import { uploadBody } from '../../../api/receive-upload.ts';
import type { ApiServices } from '../../../api/services.ts';
import type { Upload } from '../../../db/queries/uploads.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { FormError } from '../../form-problem.ts';
import { Problem } from '../../html/components.tsx';
import { member, type MemberVisit, showPart } from '../../page.ts';
import { consoleCaller } from './caller.ts';
import { useTexts } from '../../html/page-context.ts';

const PICTURES = 'image/png,image/jpeg,image/webp';

export const filePages = [
  {
    ...member.form('/accounts/{account_id}/playground/files', 'develop', async (visit, services) => {
      try {
        const upload = await receive(visit, services);
        const url = services.storage.urlOf(upload.storageKey);
        return showPart(<Thumbnail url={url} name={upload.filename ?? upload.id} />);
      } catch (error) {
        if (!(error instanceof ServiceError) || error.code === 'internal_error') throw error;
        return showPart(<Problem of={error} />, error.status);
      }
    }),
    receives: 'file' as const,
  },
];

/** @throws ServiceError if the file is not a picture, or the account has too many files */
async function receive(visit: MemberVisit, services: ApiServices): Promise<Upload> {
  const caller = await consoleCaller(visit, services);
  const store = await uploadBody.read(visit.context.req, services);
  return store(async (file) => {
    if (!file.type.mimeType.startsWith('image/')) throw new FormError(visit.texts.playground.noPicture);
    return services.tasks.uploads.store(caller, file);
  });
}

/** An input for files, which the page's script shows. Without script, people enter links. */
export function FileDrop({ visit: { account, session, texts } }: { visit: MemberVisit }) {
  const messages = texts.playground;
  return (
    <div
      class="drop"
      hidden
      data-drop={`/console/accounts/${account.accountId}/playground/files`}
      data-token={session.formToken}
      data-failed={messages.uploadFailed}
    >
      <label for="field-files">{messages.drop}</label>
      <input id="field-files" type="file" accept={PICTURES} multiple />
      <ul class="thumbnails" aria-label={messages.chosen} aria-live="polite"></ul>
      <div data-problem></div>
    </div>
  );
}

function Thumbnail({ url, name }: { url: string; name: string }) {
  const texts = useTexts();
  return (
    <li>
      <img src={url} alt={name} />
      <input type="hidden" name="images" value={url} />
      <button type="button" class="quiet" data-remove aria-label={texts.common.remove(name)}>
        ×
      </button>
    </li>
  );
}
