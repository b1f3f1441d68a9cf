/** The duration of audio, as its container announces it. */
import { parseFile } from 'music-metadata';

/** @param path with the extension of the format. @returns seconds; null for a file without a known duration */
export async function readAudioDuration(path: string): Promise<number | null> {
  try {
    const { format } = await parseFile(path, { skipCovers: true, skipPostHeaders: true });
    const { duration } = format;
    return duration !== undefined && Number.isFinite(duration) && duration > 0 ? duration : null;
  } catch {
    return null;
  }
}
