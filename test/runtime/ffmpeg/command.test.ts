import { describe, expect, it } from 'vitest';
import { buildArguments, fileUrl } from '../../../runtime/ffmpeg/command.ts';

describe('buildArguments', () => {
  it('puts everything where ffmpeg expects it and splits nothing', () => {
    const args = buildArguments({
      verbosity: 'level+info',
      inputs: [{ url: fileUrl('/a b/-x:1.mp4'), options: ['-copyts', '-user_agent', 'edge detect'] }],
      filterGraph: '[0:V:0]split=2[m][f];[m]scale=640:360[content];[f]format=yuv420p[full]',
      outputs: [
        { target: 'pipe:1', options: ['-map', '[content]', '-f', 'nut'] },
        { target: 'pipe:3', options: ['-map', '[full]', '-metadata', 'title=a b'] },
      ],
    });
    expect(args).toEqual(
      [
        ['-hide_banner', '-nostdin', '-nostats', '-v', 'level+info'],
        ['-copyts', '-user_agent', 'edge detect', '-i', 'file:/a b/-x:1.mp4'],
        ['-filter_complex', '[0:V:0]split=2[m][f];[m]scale=640:360[content];[f]format=yuv420p[full]'],
        ['-map', '[content]', '-f', 'nut', 'pipe:1'],
        ['-map', '[full]', '-metadata', 'title=a b', 'pipe:3'],
      ].flat(),
    );
  });

  it('overwrites a file output, and asks for no listing of formats', () => {
    const args = buildArguments({
      inputs: [{ url: '/dev/video0', options: ['-f', 'v4l2'] }],
      outputs: [{ target: 'out.mp4' }],
    });
    expect(args).toEqual([
      '-hide_banner',
      '-nostdin',
      '-nostats',
      '-v',
      'level+error',
      '-f',
      'v4l2',
      '-i',
      '/dev/video0',
      '-y',
      'out.mp4',
    ]);
  });
});
