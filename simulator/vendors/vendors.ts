/** The simulated vendors, each below `/vendors/<protocol>`. */
import { finishJob } from '../jobs/job.ts';
import { type Route, sendJson } from '../router.ts';
import { ark } from './ark.ts';
import { bfl } from './bfl.ts';
import { dashscope } from './dashscope.ts';
import { fal } from './fal.ts';
import { google } from './google.ts';
import { kling } from './kling.ts';
import { minimax } from './minimax.ts';
import { openaiImages } from './openai-images.ts';
import { openaiVideos } from './openai-videos.ts';
import { type VendorOptions, simulateVendor, type Vendor } from './simulate-vendor.ts';
import { replicate } from './replicate.ts';
import { vertex } from './vertex.ts';
import { xai } from './xai.ts';

const VENDORS: readonly Vendor[] = [
  ark,
  bfl,
  dashscope,
  fal,
  google,
  kling,
  minimax,
  openaiImages,
  openaiVideos,
  replicate,
  vertex,
  xai,
];

/** Their routes, and those with which tests inspect and end renders: `GET /_sim/renders?vendor=…&mark=…`, `POST /_sim/renders/finish?mark=…`. */
export function vendorRoutes(options: VendorOptions): readonly Route[] {
  const simulated = VENDORS.map((vendor) => ({ vendor, ...simulateVendor(vendor, options) }));
  const inspection: Route = {
    method: 'GET',
    path: '/_sim/renders',
    handle({ url: { searchParams } }, response) {
      const [name, mark] = [searchParams.get('vendor'), searchParams.get('mark')];
      const data = simulated.flatMap(({ vendor, renders }) =>
        (name === null || name === vendor.name ? renders.all() : [])
          .filter((render) => mark === null || mark === render.mark)
          .map((render) => ({
            vendor: vendor.name,
            id: render.id,
            mark: render.mark,
            state: renders.stateOf(render),
            sent: render.order.sent,
            downloads: render.job.downloads,
            created_at: new Date(render.job.createdAtMs).toISOString(),
          })),
      );
      sendJson(response, 200, { data });
    },
  };
  const ending: Route = {
    method: 'POST',
    path: '/_sim/renders/finish',
    handle({ url: { searchParams } }, response) {
      const marked = simulated
        .flatMap(({ renders }) => renders.all())
        .filter(({ mark }) => mark !== null && mark === searchParams.get('mark'));
      for (const { job } of marked) finishJob(job, Date.now());
      sendJson(response, 200, { finished: marked.length });
    },
  };
  return [...simulated.flatMap(({ routes }) => routes), inspection, ending];
}
